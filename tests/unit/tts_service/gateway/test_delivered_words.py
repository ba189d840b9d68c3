"""Where words are in the audio that is delivered: scaled, moved by what was cut off and by decoders, never outside."""

from __future__ import annotations

import pytest

from tts_service.gateway.delivered_words import DeliveredWords, TimedWord
from tts_service.gateway.spoken_words import SpokenSegment
from tts_service.protocol import Word
from tts_service.text.segment import SegmentText

TEXT = "One two three"
WORDS = (Word(0, 3, 1000, 2000), Word(4, 7, 2400, 4000), Word(8, 13, 4000, 8000))
SEGMENT = SpokenSegment(0, SegmentText(TEXT, 0, len(TEXT)), 0, 8000, WORDS)


def delivered(
    scale: float = 1.0, rate_hz: int = 1000, delay: int = 0, dropped: int = 0, total: int = 8000
) -> list[TimedWord]:
    words = DeliveredWords(TEXT, scale, rate_hz, delay)
    words.follow([SEGMENT], lambda: dropped)
    return [words.timed(found) for found in words.rest(total)]


def times(found: list[TimedWord]) -> list[tuple[float, float]]:
    return [(word.start_s, word.end_s) for word in found]


def test_words_have_the_users_text_and_its_places() -> None:
    assert delivered() == [
        TimedWord("One", 0, 3, 1.0, 2.0),
        TimedWord("two", 4, 7, 2.4, 4.0),
        TimedWord("three", 8, 13, 4.0, 8.0),
    ]


def test_tempo_and_rate_scale_the_times() -> None:
    # Three times as fast, and then half as many samples a second: the same seconds as three times as fast.
    assert times(delivered(scale=0.5 / 3, rate_hz=500)) == [(0.334, 0.666), (0.8, 1.334), (1.334, 2.666)]


def test_what_was_cut_off_the_start_and_what_a_decoder_adds_move_them() -> None:
    assert times(delivered(dropped=900)) == [(0.1, 1.1), (1.5, 3.1), (3.1, 7.1)]
    assert times(delivered(delay=50)) == [(1.05, 2.05), (2.45, 4.05), (4.05, 8.05)]


def test_no_word_begins_before_the_audio_or_ends_after_it() -> None:
    assert times(delivered(dropped=1200, total=6000)) == [(0.0, 0.8), (1.2, 2.8), (2.8, 6.0)]


@pytest.mark.parametrize("step", [1, 700, 1000, 5000])
def test_words_are_told_once_when_their_ends_are_reached(step: int) -> None:
    words = DeliveredWords(TEXT, 1.0, 1000, 0)
    segments = [SEGMENT]
    words.follow(segments, lambda: 0)
    found = []
    for n_samples in range(step, 7900, step):
        new = words.reached(n_samples)
        assert all(n_samples - step < 1000 * word.end_s <= n_samples for word in new)
        found += new
    found += words.rest(8000)
    assert [words.timed(word) for word in found] == delivered()
    assert segments == [], "a book's would fill the memory"
    assert words.rest(8000) == []
