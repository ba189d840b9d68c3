"""What the cache keeps of a segment, in one array: samples, words, and the number of words. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from tts_service.gateway.pcm import Float32
from tts_service.protocol import Word

WORD_FIELDS = len(Word.__struct_fields__)


@dataclass(frozen=True)
class FinishedSegment:
    """A segment as a worker made it."""

    samples: Float32
    """(n,)."""
    words: tuple[Word, ...]


def pack(samples: Float32, words: tuple[Word, ...]) -> Float32:
    """Return an array (n + WORD_FIELDS * words + 1,) whose last places are int32 that no one may compute with."""
    numbers = [number for word in words for number in msgspec.structs.astuple(word)]
    tail = np.asarray([*numbers, len(words)], "<i4")
    return np.concatenate([samples, tail.view("<f4")])


def unpack(entry: Float32) -> FinishedSegment | None:
    """Return what `pack` was given, sharing its memory; None for an array that cannot be from it."""
    n_words = int(entry[-1:].view("<i4")[0]) if len(entry) else -1
    n_samples = len(entry) - 1 - WORD_FIELDS * n_words
    if n_words < 0 or n_samples < 0:
        return None
    table = entry[n_samples:-1].view("<i4").reshape(n_words, WORD_FIELDS).tolist()
    return FinishedSegment(entry[:n_samples], tuple(Word(*row) for row in table))
