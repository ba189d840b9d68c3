"""Spoken words become the user's own: each once, in order, whatever was said for them."""

from __future__ import annotations

import itertools
import re

import pytest

from tts_service.gateway.spoken_words import SpokenSegment
from tts_service.gateway.user_words import UserWord, UserWords
from tts_service.protocol import Word
from tts_service.text.front_end import Reading, segments
from tts_service.text.segment import SegmentText

SAMPLES_PER_CHAR = 10


def spoken(texts: list[SegmentText]) -> list[SpokenSegment]:
    """Return segments whose words are what stands between spaces, one after the other."""
    found, first = [], 0
    for index, text in enumerate(texts):
        words = tuple(
            Word(
                match.start(),
                match.end(),
                first + SAMPLES_PER_CHAR * match.start(),
                first + SAMPLES_PER_CHAR * match.end(),
            )
            for match in re.finditer(r"[^\s.,]+", text.text)
        )
        length = SAMPLES_PER_CHAR * len(text.text)
        found.append(SpokenSegment(index, text, first, length, words))
        first += length
    return found


def words_of(text: str, max_chars: int = 400, *, ssml: bool = False) -> list[UserWord]:
    """Return the words of a text as the front end reads it."""
    words = UserWords(text)
    reading = Reading(language="en", max_chars=max_chars, ssml=ssml)
    parts = [words.push(segment) for segment in spoken(list(segments(text, reading)))]
    return [word for part in [*parts, words.finish()] for word in part]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello big world.", ["Hello", "big", "world"]),
        ("It costs $5 now.", ["It", "costs", "$5", "now"]),
        ("Dr. Lee paid $3.50 at 9:42.", ["Dr.", "Lee", "paid", "$3.50", "at", "9:42"]),
        ("Take 1,250 of 50%.", ["Take", "1,250", "of", "50%"]),
        ("You & me, 3 + 4 = 7.", ["You", "&", "me", "3", "+", "4", "=", "7"]),
        ("One. Two 2. Three", ["One", "Two", "2", "Three"]),
        ("A **bold** word.", ["A", "bold", "word"]),
    ],
)
def test_words_are_as_the_user_wrote_them(text: str, expected: list[str]) -> None:
    assert [text[word.start_char : word.end_char] for word in words_of(text)] == expected


def test_words_of_ssml_are_those_of_the_document() -> None:
    text = '<speak>It is <sub alias="World Wide Web Consortium">W3C</sub> &amp; me.</speak>'
    found = [text[word.start_char : word.end_char] for word in words_of(text, ssml=True)]
    assert found == ["It", "is", "W3C", "&amp;", "me"]


@pytest.mark.parametrize("max_chars", [12, 20, 40, 400])
def test_what_is_said_in_several_words_is_one_wherever_it_is_cut(max_chars: int) -> None:
    text = "I owe you $123,456,789.12 today, and £1 more."
    found = words_of(text, max_chars)
    assert [text[word.start_char : word.end_char] for word in found] == [
        *("I", "owe", "you", "$123,456,789.12", "today", "and", "£1", "more")
    ]
    for earlier, later in itertools.pairwise(found):
        assert earlier.end_char <= later.start_char
        assert earlier.start_sample < earlier.end_sample <= later.start_sample


def test_only_a_word_that_may_go_on_is_held_back() -> None:
    text = "It is mine. It is 5"
    words = UserWords(text)
    first, second = spoken(list(segments(text, Reading(language="en", max_chars=400))))
    assert [word.start_char for word in words.push(first)] == [0, 3, 6]
    assert [word.start_char for word in words.push(second)] == [12, 15]
    assert [word.start_char for word in words.finish()] == [18]
    assert words.finish() == []


def test_a_segment_without_words_is_one_where_that_is_wanted() -> None:
    segment = SpokenSegment(0, SegmentText("Hm, well.", 4, 13), 100, 900, ())
    assert UserWords("So: Hm, well.").push(segment) == []
    assert UserWords("So: Hm, well.", wordless=True).push(segment) == [UserWord(segment, 4, 13, 0, 100, 1000)]
