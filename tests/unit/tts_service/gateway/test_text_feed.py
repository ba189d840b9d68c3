"""Text in pieces becomes the segments of the whole text, each as soon as it is complete."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tts_service.errors import Code, RequestFailed
from tts_service.gateway.text_feed import TextFeed
from tts_service.text.front_end import Reading, segments
from tts_service.text.segment import NOTHING_YET, SegmentText

TEXT = (
    'Hello, world. It is Dr. Smith! He said "3.5 or 4?" and left.\n\nA new paragraph. It has two sentences.\n'
    "Another line\n- one\n- two\n\nAnd so on... Wait? Yes."
)


def feed(max_segment_chars: int = 300, max_chars: int = 1000, scripts: list[str] | None = None) -> TextFeed:
    """Return an empty feed."""
    return TextFeed(Reading("en", max_segment_chars), scripts or [], "anna", max_chars)


def ready(source: TextFeed) -> list[str]:
    """Return the segments that are complete."""
    found: list[str] = []
    for segment in source:
        if segment is NOTHING_YET:
            break
        found.append(segment.text)
    return found


def silences(found: list[SegmentText]) -> list[float]:
    """Return the silence between each two segments."""
    return [max(one.pause_after_s, other.pause_before_s) for one, other in pairwise(found)]


def cut(text: str, lengths: list[int]) -> Iterator[str]:
    """Cut a text into pieces of these lengths, again and again."""
    at = number = 0
    while at < len(text):
        yield text[at : at + lengths[number % len(lengths)]]
        at, number = at + lengths[number % len(lengths)], number + 1


@pytest.mark.parametrize("lengths", [[1], [2], [3, 7], [50], [1000]])
def test_the_segments_are_those_of_the_whole_text_however_it_comes(lengths: list[int]) -> None:
    source = feed()
    for piece in cut(TEXT, lengths):
        source.push(piece)
    source.end()
    found = list(source)
    whole = list(segments(TEXT, Reading("en", 300)))
    assert [segment.text for segment in found] == [segment.text for segment in whole]
    assert [TEXT[segment.start : segment.end] for segment in found] == [TEXT[s.start : s.end] for s in whole]
    assert silences(found) == silences(whole)
    assert source.text == TEXT


def test_a_sentence_is_spoken_as_soon_as_the_next_one_begins() -> None:
    source = feed()
    source.push("Hello there. ")
    assert ready(source) == []
    source.push("H")
    assert ready(source) == ["Hello there."]
    source.push("ow are you")
    assert ready(source) == []


def test_a_paragraph_s_end_ends_a_sentence() -> None:
    source = feed()
    source.push("A heading\n")
    assert ready(source) == []
    source.push("\n")
    assert ready(source) == ["A heading"]


def test_flush_speaks_what_there_is_and_end_ends() -> None:
    source = feed()
    source.push("Hello the")
    source.flush()
    assert ready(source) == ["Hello the"]
    source.push("re. ")
    source.end()
    assert ready(source) == ["re."]
    assert list(source) == []


def test_an_eager_feed_takes_a_full_stop_for_the_end() -> None:
    source = feed()
    source.push("Hello there. ", eager=True)
    assert ready(source) == ["Hello there."]
    source.push("And so", eager=True)
    assert ready(source) == []
    source.push(' on?"', eager=True)
    assert ready(source) == ['And so on?"']


def test_text_without_an_end_is_spoken_in_pieces_of_the_longest_segment() -> None:
    source = feed(max_segment_chars=40)
    words = "word " * 30
    for char in words:
        source.push(char)
        assert len(source._held) <= 41
    source.end()
    parts = [segment.text for segment in source]
    assert all(len(part) <= 40 for part in parts)
    assert " ".join(parts).split() == words.split()


@given(st.text(alphabet="aB .!?\n,\"'1\u00ad\u2028", max_size=120), st.lists(st.integers(1, 9), min_size=1))
def test_nothing_that_can_be_spoken_is_lost_or_doubled(text: str, lengths: list[int]) -> None:
    source = feed(max_segment_chars=25)
    for piece in cut(text, lengths):
        source.push(piece)
    source.end()
    spoken = "".join(char for part in source for char in text[part.start : part.end] if char.isalnum())
    assert spoken == "".join(char for char in text if char.isalnum())


def test_too_much_text_and_letters_that_the_voice_does_not_know_are_refused() -> None:
    source = feed(max_chars=10)
    source.push("12345 ")
    with pytest.raises(RequestFailed) as caught:
        source.push("67890")
    assert (caught.value.code, caught.value.param) == (Code.TEXT_TOO_LONG, "text")
    assert "11 characters by now: expected at most 10" in caught.value.message
    with pytest.raises(RequestFailed) as caught:
        feed(scripts=["LATIN"]).push("\u0416")
    assert caught.value.code is Code.UNSUPPORTED_TEXT
