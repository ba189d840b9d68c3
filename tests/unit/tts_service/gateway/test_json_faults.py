"""What is wrong with a body that is no JSON is said in words."""

from __future__ import annotations

import pytest

from tts_service.errors import Code, RequestFailed
from tts_service.gateway.body import read_body


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b'{"input": "x", "speed": NaN}', "NaN at byte 24 is no number in JSON"),
        (b'{"input": "x", "speed": Infinity}', "Infinity at byte 24 is no number in JSON"),
        (b'{"input": "x", "speed": -Infinity}', "-Infinity at byte 24 is no number in JSON"),
        (b'{"input": "a \\ud800 b"}', "the escape that ends at byte 19 is half of a surrogate pair"),
        (b'{"input": "\\udc00"}', "half of a character"),
        (b'{"input": "\\ud800\\u0041"}', "surrogate"),
        (b'{"input": "\xff"}', "not UTF-8: byte 11 is 0xff"),
        (b'{"input": "\xed\xa0\x80"}', "not UTF-8: byte 11 is 0xed"),
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (b'{"input": "x"', "it ends too early"),
        (b'{"input": "x",}', "trailing comma"),
        (b'{"input": "x"} y', "trailing characters"),
        (b'{"input": "a\nb"}', "control characters in a string are written as escapes"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b'{"input":' + b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_body_that_is_no_json_is_refused_with_what_is_wrong(raw: bytes, words: str) -> None:
    with pytest.raises(RequestFailed) as caught:
        read_body(raw, 100)
    assert caught.value.code is Code.INVALID_REQUEST
    assert "is not valid JSON" in caught.value.message
    assert words in caught.value.message


def test_what_only_looks_like_a_fault_is_none() -> None:
    assert read_body(b'{"input": "NaN \\\\ud800 \\ud83d\\ude00"}', 100).input == "NaN \\ud800 \U0001f600"
