"""The body of a speech request: every field, and everything that clients send instead."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.properties import property_settings
from tts_service.errors import Code, RequestFailed
from tts_service.gateway.body import MAX_SEED, SpeechBody, VoiceRef, read_body


def read(**fields: Any) -> SpeechBody:
    """Return the body with these fields and a text."""
    return read_body(json.dumps({"input": "Hello.", **fields}).encode(), 100)


def refused(raw: bytes, max_text_chars: int = 100) -> RequestFailed:
    """Return the error with which a body is refused; its message is short whatever the body is."""
    with pytest.raises(RequestFailed) as caught:
        read_body(raw, max_text_chars)
    assert caught.value.code.status == 400
    assert len(caught.value.message) < 300
    return caught.value


def test_a_text_alone_is_a_request_with_the_defaults_of_openai() -> None:
    body = read()
    assert body == SpeechBody(input="Hello.")
    assert (body.model, body.voice, body.response_format, body.speed) == (None, None, "mp3", 1.0)
    assert (body.seed, body.language, body.sample_rate, body.stream) == (None, None, None, None)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model", "tts-1"),
        ("voice", "anna"),
        *[("response_format", name) for name in ("mp3", "wav", "pcm")],
        *[("speed", speed) for speed in (0.25, 1, 1.5, 4.0)],
        *[("seed", seed) for seed in (-1, 0, 7, MAX_SEED)],
        ("language", "en-GB"),
        ("language", "x" * 35),
        *[("sample_rate", rate) for rate in (8000, 22050, 48000, "native")],
        *[("priority", priority) for priority in (-10, 0, 10, "batch")],
        *[("timeout", seconds) for seconds in (0.5, 30, 86400)],
        *[("stream", stream) for stream in (True, False)],
    ],
)
def test_a_field_has_the_value_that_was_sent(field: str, value: Any) -> None:
    assert getattr(read(**{field: value}), field) == value


@pytest.mark.parametrize("field", SpeechBody.__struct_fields__)
def test_a_null_is_the_same_as_no_field(field: str) -> None:
    raw = json.dumps({"input": "Hello."} | {field: None}).encode()
    if field == "input":
        assert refused(raw).message.startswith("input is missing")
    else:
        assert read_body(raw, 100) == SpeechBody(input="Hello.")


def test_a_voice_may_be_named_by_an_object() -> None:
    assert read(voice={"id": "anna", "kind": "custom"}).voice == VoiceRef("anna")
    assert read(voice={"id": "anna"}).voice_id == "anna"
    assert read(voice="anna").voice_id == "anna"
    assert read().voice_id is None


def test_unknown_fields_are_ignored_whatever_they_hold() -> None:
    body = read(emotion="glad", lang_code=3, user=None, extra={"input": ["x"]}, **{"": 1, "ü": []})
    assert body == SpeechBody(input="Hello.")


FORMATS = "one of aac, alaw, flac, json, mp3, opus, pcm, srt, ulaw, vtt, wav, wav_alaw, wav_ulaw"


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("input", 5, "text"),
        ("input", ["Hello."], "text"),
        ("input", {"text": "Hello."}, "text"),
        ("input", True, "text"),
        ("model", 1, "text"),
        ("voice", 1, "text or an object with id"),
        ("voice", ["anna"], "text or an object with id"),
        ("voice", {}, "text or an object with id"),
        ("voice", {"id": None}, "text or an object with id"),
        ("voice", {"id": 7}, "text or an object with id"),
        ("voice", {"name": "anna"}, "text or an object with id"),
        ("response_format", "ogg", FORMATS),
        ("response_format", "MP3", FORMATS),
        ("response_format", "", FORMATS),
        ("response_format", 3, FORMATS),
        ("stream_format", "events", "one of audio, sse"),
        ("stream_format", True, "one of audio, sse"),
        ("instructions", 5, "text"),
        ("instructions", ["Be glad."], "text"),
        ("trim", "yes", "true or false"),
        ("trim", 1, "true or false"),
        ("speed", 0.2, "a number from 0.25 to 4.0"),
        ("speed", 4.01, "a number from 0.25 to 4.0"),
        ("speed", 0, "a number from 0.25 to 4.0"),
        ("speed", -1, "a number from 0.25 to 4.0"),
        ("speed", "1", "a number from 0.25 to 4.0"),
        ("speed", True, "a number from 0.25 to 4.0"),
        ("seed", -2, "a whole number from -1 to 9223372036854775807"),
        ("seed", MAX_SEED + 1, "a whole number from -1 to 9223372036854775807"),
        ("seed", 2**64, "a whole number from -1 to 9223372036854775807"),
        ("seed", 1.0, "a whole number from -1 to 9223372036854775807"),
        ("seed", "1", "a whole number from -1 to 9223372036854775807"),
        ("seed", False, "a whole number from -1 to 9223372036854775807"),
        ("language", 5, "text of at most 35 characters"),
        ("language", "x" * 36, "text of at most 35 characters"),
        ("sample_rate", 7999, "a whole number from 8000 to 48000 or one of native"),
        ("sample_rate", 48001, "a whole number from 8000 to 48000 or one of native"),
        ("sample_rate", 24000.0, "a whole number from 8000 to 48000 or one of native"),
        ("sample_rate", "24000", "a whole number from 8000 to 48000 or one of native"),
        ("sample_rate", True, "a whole number from 8000 to 48000 or one of native"),
        ("priority", 11, "a whole number from -10 to 10 or one of batch"),
        ("priority", "high", "a whole number from -10 to 10 or one of batch"),
        ("timeout", 0, "a number above 0 to 86400"),
        ("timeout", -1, "a number above 0 to 86400"),
        ("timeout", True, "a number above 0 to 86400"),
        ("stream", 1, "true or false"),
        ("stream", "true", "true or false"),
    ],
)
def test_a_wrong_value_is_refused_with_its_field_the_value_and_what_is_allowed(
    field: str, value: Any, expected: str
) -> None:
    error = refused(json.dumps({"input": "Hello."} | {field: value}).encode())
    assert (error.code, error.param) == (Code.INVALID_REQUEST, field)
    assert error.message.startswith(f"{field} = {value!r}"[:50])
    assert error.message.endswith(f": expected {expected}")


@pytest.mark.parametrize("field", ["response_format", "language", "speed"])
def test_a_long_value_is_not_echoed(field: str) -> None:
    error = refused(json.dumps({"input": "Hello."} | {field: "secret " * 10_000}).encode())
    assert error.message.count("secret") < 10


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "9" * 5000, "0x10", "01", "+1"])
@pytest.mark.parametrize("field", ["speed", "seed", "sample_rate"])
def test_what_json_or_a_computer_has_no_number_for_is_refused(field: str, number: str) -> None:
    error = refused(b'{"input": "Hello.", "%s": %s}' % (field.encode(), number.encode()))
    assert "not valid JSON" in error.message


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"   ",
        b"{",
        b'{"input": "Hello."',
        b'{"input": "Hello."} x',
        b'{"input": "Hello.",}',
        b"{'input': 'Hello.'}",
        b"input=Hello.",
        b'{"input": "Hel\nlo."}',
        b'{"input": "\xff"}',
        b'{"input": "\xc3"}',
        b'{"input": "\xed\xa0\x80"}',
        b'{"input": "\\ud800 alone"}',
        b'{"input": "\\udc00"}',
        b'{"input": "\\ud800"}',
        b"\xff\xfe{\x00}\x00",
        b"\x00",
    ],
)
def test_a_body_that_is_no_json_is_refused_as_such(raw: bytes) -> None:
    error = refused(raw)
    assert error.code is Code.INVALID_REQUEST
    assert "not valid JSON" in error.message


@pytest.mark.parametrize("raw", [b"null", b"[]", b'"Hello."', b"7", b"true"])
def test_json_that_is_no_object_is_refused_as_what_it_is(raw: bytes) -> None:
    error = refused(raw)
    assert "the body is a JSON" in error.message
    assert "expected an object with at least input" in error.message


@pytest.mark.parametrize("before", [b"", b'{"input":', b'{"input": "Hello.", "unknown":'])
def test_a_body_nested_a_hundred_thousand_deep_is_refused(before: bytes) -> None:
    depth = 100_000
    for opening, closing in ((b"[", b"]"), (b'{"a":', b"}")):
        error = refused(before + opening * depth + b"1" + closing * depth + (b"}" if before else b""))
        assert "nested too deeply" in error.message


def test_a_field_nested_to_any_depth_is_refused_and_never_an_accident() -> None:
    # Near the interpreter's own limit some depths can be read, but not written into a message any more.
    for depth in range(800, 1100):
        error = refused(b'{"input": "Hello.", "voice": ' + b"[" * depth + b"]" * depth + b"}")
        assert error.code is Code.INVALID_REQUEST


SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(-10, 10), st.sampled_from(["", "a", "mp3"]))
FIELD_VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=2), st.dictionaries(st.just("id"), SCALARS))
BODIES = st.dictionaries(st.sampled_from([*SpeechBody.__struct_fields__, "unknown"]), FIELD_VALUES, max_size=5)


@property_settings(400)
@given(BODIES)
def test_any_body_is_read_or_refused_and_a_null_in_it_changes_nothing_else(fields: dict[str, Any]) -> None:
    def outcome(tree: dict[str, Any]) -> Any:
        try:
            return read_body(json.dumps(tree).encode(), 100)
        except RequestFailed as error:
            return error.code.status, error.code, error.message

    # A null takes the way that has words for every error; without one a body that is right is read at once.
    assert outcome(fields) == outcome({"unknown": 0} | fields | {"other": None, "stream": fields.get("stream")})


def test_the_last_of_several_equal_keys_counts() -> None:
    assert read_body(b'{"input": "first", "speed": "x", "input": "second", "speed": 2}', 100) == SpeechBody(
        input="second", speed=2.0
    )


@pytest.mark.parametrize("text", ["Grüße 🙂", "\U0010ffff", "a\u0000b", "a\u2028b"])
def test_text_is_taken_as_it_is_escaped_or_not(text: str) -> None:
    for ascii_only in (True, False):
        raw = json.dumps({"input": text}, ensure_ascii=ascii_only).encode()
        assert read_body(raw, 100).input == text


@pytest.mark.parametrize("text", ["", " ", "\n\t \r\n", "\u00a0\u2003\u3000"])
def test_a_blank_text_has_nothing_to_speak(text: str) -> None:
    error = refused(json.dumps({"input": text}).encode())
    assert (error.code, error.param) == (Code.NOTHING_TO_SPEAK, "input")


def test_a_missing_text_is_named() -> None:
    assert refused(b"{}").param == "input"
    assert "input is missing" in refused(b'{"text": "Hello."}').message


def test_the_longest_text_is_counted_in_characters_and_never_echoed() -> None:
    def raw(text: str) -> bytes:
        return json.dumps({"input": text}, ensure_ascii=False).encode()

    assert read_body(raw("🙂" * 20), 20).input == "🙂" * 20
    error = refused(raw("🙂" * 21), 20)
    assert (error.code, error.param) == (Code.TEXT_TOO_LONG, "input")
    assert error.message == "input has 21 characters: expected at most 20"
