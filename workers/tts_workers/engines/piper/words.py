"""Which word of a text each phoneme belongs to, and when each word is spoken. Pure, but for the reading of words.

espeak says nothing of where its phonemes come from: it runs words together ("of the"), writes numbers out in several,
and says words otherwise among others than alone. So each word is read alone, too, and the two readings are aligned.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tts_service.errors import RequestFailed
from tts_service.protocol import Word
from tts_workers.engines.piper.phonemes import Phonemes
from tts_workers.engines.piper.spoken import is_heard

Read = Callable[[str], list[Phonemes]]
Span = tuple[int, int]

SPACE, PAUSE = -1, -2
"""Owners of symbols that belong to no word."""

_TOKEN = re.compile(r"\[\[.*?\]\]|(?:(?!\[\[)\S)+", re.DOTALL)
# Signs that are punctuation for Unicode, and are read aloud.
_READ_SIGNS = frozenset("%&@#*")
_STRESS = frozenset("ˈˌ")
# A reading takes espeak 0.1 ms.
_KEPT_WORDS = 8192


def word_spans(text: str) -> list[Span]:
    """Return the first character of each word and the one after its last, without the punctuation around it."""
    return [span for token in _TOKEN.finditer(text) if (span := _trimmed(text, *token.span())) is not None]


def _trimmed(text: str, start: int, end: int) -> Span | None:
    if text.startswith("[[", start) and text.endswith("]]", start, end):
        return start, end
    while start < end and not _is_read(text[start]):
        start += 1
    while start < end and not _is_read(text[end - 1]):
        end -= 1
    return (start, end) if start < end else None


def _is_read(char: str) -> bool:
    return char in _READ_SIGNS or unicodedata.category(char)[0] not in "PZC"


class WordFinder:
    """Finds the words of a voice's texts in their phonemes."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._sounds = lru_cache(_KEPT_WORDS)(self._sounds_of)

    def owners(self, text: str, spans: Sequence[Span], sentences: Sequence[Phonemes]) -> list[list[int]]:
        """Return for each symbol of each sentence the number of its word, or SPACE or PAUSE. They never fall."""
        alone = [(sound, n) for n, (start, end) in enumerate(spans) for sound in self._sounds(text[start:end])]
        symbols = [symbol for sentence in sentences for symbol in sentence.symbols]
        heard = [n for n, symbol in enumerate(symbols) if is_heard(symbol)]
        owners = [PAUSE] * len(symbols)
        if alone and heard:
            starts = {n for n in heard if _begins_word(symbols, n)}
            for n, owner in zip(
                heard, _aligned(alone, [symbols[n] for n in heard], [n in starts for n in heard]), strict=True
            ):
                owners[n] = owner
            _spread(symbols, owners)
        counts = iter(owners)
        return [[next(counts) for _ in sentence.symbols] for sentence in sentences]

    def _sounds_of(self, word: str) -> tuple[str, ...]:
        try:
            return tuple(s for sentence in self._read(word) for s in sentence.symbols if is_heard(s))
        except RequestFailed:
            # The text as a whole can be spoken; then this word's neighbours share its phonemes.
            return ()


def _aligned(alone: list[tuple[str, int]], together: list[str], is_start: list[bool]) -> list[int]:
    """Return the word of each sound of `together`, by its alignment with the sounds of the words read alone."""
    from rapidfuzz.distance import Levenshtein

    owners: list[int | None] = [None] * len(together)
    for op in Levenshtein.opcodes([sound for sound, _ in alone], together):
        if op.tag in ("equal", "replace"):
            for a, b in zip(range(op.src_start, op.src_end), range(op.dest_start, op.dest_end), strict=True):
                owners[b] = alone[a][1]
    # What only the whole text has goes with the sound before it, or after it where it begins a word of espeak's.
    following: list[int | None] = [*owners[1:], None]
    for n in range(len(owners) - 2, -1, -1):
        following[n] = owners[n + 1] if owners[n + 1] is not None else following[n + 1]
    last: int | None = None
    found = []
    for owner, after, start in zip(owners, following, is_start, strict=True):
        if owner is None:
            owner = after if (start or last is None) and after is not None else last
        last = owner
        found.append(0 if owner is None else owner)
    return found


def _begins_word(symbols: list[str], n: int) -> bool:
    while n and symbols[n - 1] in _STRESS:
        n -= 1
    return n == 0 or not _belongs(symbols[n - 1])


def _spread(symbols: list[str], owners: list[int]) -> None:
    """Give marks of stress to the word after them, those of length and the like to the word before, name the spaces."""
    for n in range(len(symbols) - 1, -1, -1):
        if symbols[n] in _STRESS and n + 1 < len(symbols):
            owners[n] = owners[n + 1]
    for n, symbol in enumerate(symbols):
        if symbol.isspace():
            owners[n] = SPACE
        elif owners[n] == PAUSE and n and _belongs(symbol):
            owners[n] = owners[n - 1]


def _belongs(symbol: str) -> bool:
    """True for what is part of a word: sounds and their marks, not punctuation and spaces."""
    return unicodedata.category(symbol[0])[0] not in "PZC"


class WordTimes:
    """Collects when the words of a segment are spoken, part by part."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans = spans
        self._times: dict[int, Span] = {}

    def add(self, owners: Sequence[int], n_samples: npt.NDArray[np.int64], first_sample: int) -> None:
        """Take the owners of a part's ids, and the samples (T,) that each of them lasts."""
        edges = [first_sample, *(first_sample + np.cumsum(n_samples)).tolist()]
        gap_start, only_spaces = first_sample, False
        last: int | None = None
        for owner, start, end in zip(owners, edges, edges[1:], strict=False):
            if owner < 0:
                only_spaces = only_spaces and owner == SPACE
                continue
            if last is not None and owner != last and only_spaces:
                # Where one word ends in the other, without a pause, nobody can say.
                start = (gap_start + start) // 2
                self._times[last] = self._times[last][0], start
            self._times[owner] = self._times.get(owner, (start, end))[0], end
            last, gap_start, only_spaces = owner, end, True

    def words(self) -> tuple[Word, ...]:
        """Return the words in order. One without a sound of its own is part of the next, or of the last."""
        found: list[Word] = []
        unheard: int | None = None
        for n, (start, end) in enumerate(self._spans):
            if n in self._times:
                found.append(Word(start if unheard is None else unheard, end, *self._times[n]))
                unheard = None
            elif unheard is None:
                unheard = start
        if unheard is not None and found:
            last = found.pop()
            found.append(Word(last.text_start, self._spans[-1][1], last.start_sample, last.end_sample))
        return tuple(found)
