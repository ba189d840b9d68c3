"""Captions: every word of the text once, in cues that can be read, and files that players accept."""

from __future__ import annotations

import itertools
import re

import pytest

from tts_service.gateway.cues import LINE_CHARS, MAX_LINES, Cue, cues_of, srt, vtt
from tts_service.gateway.delivered_words import DeliveredWords
from tts_service.gateway.spoken_words import SpokenSegment
from tts_service.protocol import Word
from tts_service.text.front_end import Reading, segments

RATE_HZ = 1000
SAMPLES_PER_CHAR = 60
LONG = (
    "Could you please open the window and let in some fresh air, because it is very warm in here, and nobody wants to "
    "sleep in a room as hot as this one, however tired they may be. Thanks!"
)


def cues(text: str, *, ssml: bool = False, known: bool = True) -> list[Cue]:
    """Return the cues of a text in which every character takes equally long."""
    found, first = [], 0
    for index, segment in enumerate(segments(text, Reading(language="en", max_chars=400, ssml=ssml))):
        words = tuple(
            Word(*match.span(), *(first + SAMPLES_PER_CHAR * place for place in match.span()))
            for match in re.finditer(r"[\w'’]+", segment.text)
        )
        length = SAMPLES_PER_CHAR * len(segment.text)
        found.append(SpokenSegment(index, segment, first, length, words if known else ()))
        first += length + round(RATE_HZ * segment.pause_after_s)
    delivered = DeliveredWords(text, 1.0, RATE_HZ, 0, wordless=True)
    delivered.follow(found, lambda: 0)
    return cues_of(delivered.rest(first), text, first / RATE_HZ, ssml=ssml)


def shown(found: list[Cue]) -> list[str]:
    return [" ".join(cue.lines) for cue in found]


def test_a_sentence_is_a_cue_with_its_marks() -> None:
    assert shown(cues('He said: "Hello there!" It cost (yes) $5. Fine.')) == [
        'He said: "Hello there!"',
        "It cost (yes) $5.",
        "Fine.",
    ]


def test_a_long_sentence_has_cues_of_two_lines_that_hold_all_of_it() -> None:
    found = cues(LONG)
    assert len(found) > 2
    assert all(len(cue.lines) <= MAX_LINES and max(map(len, cue.lines)) <= LINE_CHARS for cue in found)
    assert " ".join(shown(found)) == LONG


def test_cues_are_in_order_and_do_not_overlap() -> None:
    found = cues(LONG + "\n\nOh. No.")
    for earlier, later in itertools.pairwise(found):
        assert earlier.start_s < earlier.end_s <= later.start_s < later.end_s


def test_a_short_cue_stays_until_the_next_or_for_a_second() -> None:
    assert [(cue.start_s, cue.end_s) for cue in cues("Oh. And then there is a much longer sentence.")] == [
        (0.0, 0.18),
        (0.18, 2.58),
    ]
    assert [(cue.start_s, cue.end_s) for cue in cues("Oh.\n\nNo.")] == [(0.0, 0.58), (0.58, 0.76)]
    assert [(cue.start_s, cue.end_s) for cue in cues("<speak>Oh.<break time='3s'/>No.</speak>", ssml=True)] == [
        (0.0, 1.0),
        (3.18, 3.36),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A **bold** word.\n\n# A heading", ["A bold word.", "A heading"]),
        ("Take 3 kg  of   it.", ["Take 3 kg of it."]),
    ],
)
def test_markup_and_line_ends_are_not_shown(text: str, expected: list[str]) -> None:
    assert shown(cues(text)) == expected


def test_tags_of_ssml_are_not_shown() -> None:
    text = (
        '<speak>It <prosody rate="90%">is</prosody><break time="1s"/> <sub alias="a thing">X1</sub> &amp; so.</speak>'
    )
    assert " ".join(shown(cues(text, ssml=True))) == "It is X1 & so."


def test_a_segment_without_words_is_shown_nevertheless() -> None:
    assert shown(cues("Hello there. Fine.", known=False)) == ["Hello there.", "Fine."]


def test_the_files_have_the_clocks_of_their_formats() -> None:
    cue = Cue(3725.5, 3726.25, ("a < b & c",))
    assert srt([cue]) == "1\n01:02:05,500 --> 01:02:06,250\na < b & c\n\n"
    assert vtt([cue]) == "WEBVTT\n\n01:02:05.500 --> 01:02:06.250\na &lt; b &amp; c\n\n"
    assert (srt([]), vtt([])) == ("", "WEBVTT\n\n")
