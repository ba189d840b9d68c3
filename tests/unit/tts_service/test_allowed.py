"""One value against the type of one field, and the words for what a field takes."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta

from tts_service.allowed import allowed, convert, shorten


class Ref(msgspec.Struct):
    id: str
    kind: str = ""


@pytest.mark.parametrize(
    ("field_type", "words"),
    [
        (int, "a whole number"),
        (Annotated[int, Meta(ge=1, le=65535)], "a whole number from 1 to 65535"),
        (Annotated[float, Meta(gt=0, lt=5)], "a number above 0 below 5"),
        (Annotated[float, Meta(ge=0.5)], "a number from 0.5"),
        (Annotated[float, Meta(le=2)], "a number to 2"),
        (bool, "true or false"),
        (str, "text"),
        (Annotated[str, Meta(max_length=35)], "text of at most 35 characters"),
        (Annotated[str, Meta(pattern="^a+$")], "text matching ^a+$"),
        (Literal["mp3", "wav"], "one of mp3, wav"),
        (Literal[64, 32], "one of 32, 64"),
        (dict[str, int], "a table of names and values"),
        (Ref, "an object with id, kind"),
        (int | Literal["random"], "a whole number or one of random"),
        (Annotated[Annotated[int, Meta(ge=-1)] | None, Meta(description="A seed.")], "a whole number from -1"),
    ],
)
def test_what_a_field_takes_is_said_in_words(field_type: Any, words: str) -> None:
    assert allowed(field_type) == words


def test_a_value_that_fits_is_returned_as_the_fields_type() -> None:
    speed = convert(2, float)
    assert speed == 2.0
    assert isinstance(speed, float)
    assert convert({"id": "x"}, Ref) == Ref("x")


@pytest.mark.parametrize(
    ("value", "field_type"),
    [("1", int), (1.0, int), (True, int), (1, bool), (None, int), (1, str), ("1", float), (True, float), ([], str)],
)
def test_a_value_of_another_type_is_refused_with_what_is_allowed(value: Any, field_type: Any) -> None:
    with pytest.raises(ValueError) as caught:
        convert(value, field_type)
    assert str(caught.value) == allowed(field_type)


@pytest.mark.parametrize(
    ("text", "field_type", "value"),
    [("8000", int, 8000), ("0.5", float, 0.5), ("true", bool, True), ("0", bool, False), ("64", Literal[32, 64], 64)],
)
def test_text_is_read_as_what_it_spells_where_that_is_wanted(text: str, field_type: Any, value: Any) -> None:
    assert convert(text, field_type, text=True) == value


@pytest.mark.parametrize("text", ["", " 80", "8_0", "0x50", "eighty", "80.5", "٨"])
def test_text_that_spells_no_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a whole number"):
        convert(text, int, text=True)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_no_bounded_number_can_be_infinite_or_no_number(value: float) -> None:
    bounded = Annotated[float, Meta(ge=0, le=10)]
    for given, text in ((value, False), (str(value), True)):
        with pytest.raises(ValueError, match="a number from 0 to 10"):
            convert(given, bounded, text=text)


def test_a_short_value_is_shown_whole() -> None:
    assert shorten("Hi") == "'Hi'"
    assert shorten(4.5) == "4.5"


@pytest.mark.parametrize("value", ["x" * 1000, ["x"] * 1000, "é" * 59, {"id": "x" * 100}, "\n" * 40])
def test_a_long_value_is_cut(value: Any) -> None:
    shown = shorten(value)
    assert len(shown) == 60
    assert shown.endswith("…")


def test_a_shown_value_is_one_line_of_plain_characters() -> None:
    assert shorten("a\nb\u202e\x1b") == "'a\\nb\\u202e\\x1b'"


def test_a_value_nested_deeper_than_python_can_write_out_is_shown_as_what_it_is() -> None:
    value: Any = 1
    for _ in range(10_000):
        value = [value]
    assert shorten(value) == "a deeply nested list"


@pytest.mark.parametrize("field_type", [int | None, float | None, bool | None, Literal["a", "b"] | None])
def test_a_spelled_null_is_no_absent_value(field_type: Any) -> None:
    with pytest.raises(ValueError, match=r"^(a whole number|a number|true or false|one of a, b)$"):
        convert("null", field_type, text=True)
    assert convert("null", str | None, text=True) == "null"
    assert convert(None, field_type) is None
