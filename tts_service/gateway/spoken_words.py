"""When the words of a request are spoken, segment by segment in text order. Used by the request's thread alone."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from tts_service.protocol import Word
from tts_service.text.segment import SegmentText


@dataclass(frozen=True)
class SpokenSegment:
    """A segment whose words are known. Its characters count from its own start, its samples from the request's."""

    index: int
    """In text order, from 0."""
    text: SegmentText
    """Its `source` finds the characters of the user's own text."""
    first_sample: int
    """At the engine's rate, as all samples here; the pauses between segments count, too."""
    n_samples: int
    words: tuple[Word, ...]
    """() from a voice without word times."""


def spoken_segment(
    index: int, text: SegmentText, first_sample: int, n_samples: int, words: tuple[Word, ...]
) -> SpokenSegment:
    """Return a segment that begins at `first_sample`, from words whose samples count from its own start."""
    moved = tuple(
        msgspec.structs.replace(
            word, start_sample=first_sample + word.start_sample, end_sample=first_sample + word.end_sample
        )
        for word in words
    )
    return SpokenSegment(index, text, first_sample, n_samples, moved)
