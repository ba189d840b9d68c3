"""The query of a link: the same fields, values and refusals as the body."""

from __future__ import annotations

import pytest
from werkzeug.datastructures import MultiDict

from tts_service.errors import Code, RequestFailed
from tts_service.gateway.body import SpeechBody
from tts_service.gateway.query import read_flag, read_query


def read(*pairs: tuple[str, str]) -> SpeechBody:
    return read_query(MultiDict(pairs), 100)


def test_a_link_that_says_only_its_text_is_a_whole_wav() -> None:
    assert read(("input", "Hello.")) == SpeechBody(input="Hello.", response_format="wav", stream=False)


def test_every_field_is_read_from_its_text() -> None:
    body = read(
        ("input", "12"),
        ("voice", "7"),
        ("model", "tts-1"),
        ("response_format", "opus"),
        ("speed", "1.5"),
        ("seed", "-1"),
        ("language", "en"),
        ("sample_rate", "16000"),
        ("priority", "batch"),
        ("timeout", "9"),
        ("stream", "true"),
        ("stream_format", "sse"),
        ("trim", "1"),
        ("instructions", "5"),
        ("anything", "else"),
    )
    assert body == SpeechBody(
        input="12",
        voice="7",
        model="tts-1",
        response_format="opus",
        speed=1.5,
        seed=-1,
        language="en",
        sample_rate=16000,
        priority="batch",
        timeout=9.0,
        stream=True,
        stream_format="sse",
        trim=True,
        instructions="5",
    )


def test_numbers_and_words_share_a_field() -> None:
    assert read(("input", "x"), ("sample_rate", "native"), ("priority", "-3")).sample_rate == "native"
    assert read(("input", "x"), ("priority", "-3")).priority == -3


def test_a_field_without_a_value_has_its_default() -> None:
    assert read(("input", "x"), ("speed", ""), ("voice", ""), ("response_format", "")) == read(("input", "x"))


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("speed", "fast", "a number from 0.25 to 4.0"),
        ("speed", "nan", "a number from 0.25 to 4.0"),
        ("speed", "9", "a number from 0.25 to 4.0"),
        ("seed", "1.5", "a whole number from -1"),
        ("seed", "null", "a whole number from -1"),
        ("timeout", "NULL", "a number above 0"),
        ("stream", "null", "true or false"),
        ("timestamps", "null", "one of word"),
        ("audio_format", "srt", "one of aac"),
        ("sample_rate", "7999", "a whole number from 8000 to 48000"),
        ("sample_rate", "Native", "one of native"),
        ("stream", "maybe", "true or false"),
        ("response_format", "ogg", "one of aac"),
    ],
)
def test_a_wrong_value_is_refused_with_its_field_the_value_and_what_is_allowed(
    field: str, value: str, expected: str
) -> None:
    with pytest.raises(RequestFailed) as caught:
        read(("input", "x"), (field, value))
    assert (caught.value.code, caught.value.param) == (Code.INVALID_REQUEST, field)
    assert f"{field} = '{value}'" in caught.value.message
    assert expected in caught.value.message


@pytest.mark.parametrize("pairs", [[], [("voice", "x")]])
def test_a_link_without_a_text_is_refused(pairs: list[tuple[str, str]]) -> None:
    with pytest.raises(RequestFailed, match="input is missing"):
        read(*pairs)


@pytest.mark.parametrize(
    ("text", "code"), [("", Code.NOTHING_TO_SPEAK), (" \n", Code.NOTHING_TO_SPEAK), ("x" * 101, Code.TEXT_TOO_LONG)]
)
def test_a_text_has_the_limits_of_the_body(text: str, code: Code) -> None:
    with pytest.raises(RequestFailed) as caught:
        read(("input", text))
    assert (caught.value.code, caught.value.param) == (code, "input")


def test_a_field_that_is_given_twice_is_refused() -> None:
    with pytest.raises(RequestFailed, match="seed is given 2 times"):
        read(("input", "x"), ("seed", "1"), ("seed", "2"))


def test_a_switch_is_true_or_false() -> None:
    query = MultiDict([("a", "1"), ("b", "False"), ("c", "yes")])
    assert [read_flag(query, name) for name in ("a", "b", "none")] == [True, False, False]
    with pytest.raises(RequestFailed, match="c = 'yes': expected true or false"):
        read_flag(query, "c")


def test_a_text_that_is_too_long_for_a_link_is_refused_whatever_the_limit_of_the_body() -> None:
    pairs = MultiDict([("input", "x" * 4001)])
    with pytest.raises(RequestFailed, match="input has 4001 characters: expected at most 4000"):
        read_query(pairs, 100_000)
