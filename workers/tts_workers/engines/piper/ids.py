"""From phonemes to the ids that a voice was trained on, in parts of bounded length. Pure, but for its log."""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from tts_workers.engines.piper.phonemes import Phonemes
from tts_workers.engines.piper.scripts import cannot_speak
from tts_workers.engines.piper.spoken import is_heard
from tts_workers.engines.piper.voice import BEGIN, END, PAD, VoiceFile
from tts_workers.engines.piper.words import PAUSE

logger = logging.getLogger(__name__)

# The encoder's attention grows with the square; 802 ids take it 0.13 s.
MAX_PHONEMES = 400
# Of a voice that runs whole, a part is one step: 8 s of audio, 0.8 s where a core makes 10 of them in one.
MAX_PHONEMES_WHOLE = 120
NOBODY = PAUSE
_CLAUSE_ENDS = frozenset(",;:.!?")


@dataclass(frozen=True)
class Part:
    """What the encoder takes at once."""

    ids: list[int]
    owners: list[int]
    """Whose each id is; as long as `ids`."""


class Alphabet:
    """The map of one voice."""

    def __init__(self, voice: VoiceFile, longest: int = MAX_PHONEMES) -> None:
        self._voice = voice
        self._longest = longest
        self._ids = voice.config.phoneme_id_map
        self._map = voice.config.phoneme_map
        self._missed: set[str] = set()

    def parts(self, sentence: Phonemes) -> list[list[int]]:
        """Return the ids of a sentence: one list, or several where it is very long, none where it has no sound.

        RequestFailed where the voice has no id for something that is to be heard.
        """
        return [part.ids for part in self.owned_parts(sentence, [0] * len(sentence.symbols))]

    def owned_parts(self, sentence: Phonemes, owners: Sequence[int]) -> list[Part]:
        """Return the same with the owner of each id, of those that each symbol of the sentence has."""
        known = [self._known(*pair) for pair in zip(sentence.symbols, sentence.raw, strict=True)]
        spread = [owner for owner, symbols in zip(owners, known, strict=True) for _ in symbols]
        parts, start = list[Part](), 0
        for symbols in split([symbol for found in known for symbol in found], self._longest):
            if any(is_heard(symbol) for symbol in symbols):
                parts.append(self._framed(symbols, spread[start : start + len(symbols)]))
            start += len(symbols)
        return parts

    def _framed(self, symbols: list[str], owners: list[int]) -> Part:
        """Return the ids as in training: begin, then each phoneme with padding after it, end."""
        pad = self._ids[PAD]
        ids = [*self._ids[BEGIN], *pad]
        owned = [NOBODY] * len(ids)
        for symbol, owner in zip(symbols, owners, strict=True):
            more = [*self._ids[symbol], *pad]
            ids += more
            owned += [owner] * len(more)
        return Part(ids + self._ids[END], owned + [NOBODY] * len(self._ids[END]))

    def _known(self, symbol: str, raw: bool) -> list[str]:
        """Return a phoneme as the voice knows it, in one or several symbols."""
        for spelled in (self._map.get(symbol, [symbol]), list(unicodedata.normalize("NFD", symbol))):
            if all(part in self._ids for part in spelled):
                return spelled
        if raw or is_heard(symbol):
            raise cannot_speak(self._voice.id, symbol, "" if raw else unicodedata.name(symbol[0], ""))
        if symbol not in self._missed:
            # As Piper does; stress, length and punctuation that a voice was not trained on.
            self._missed.add(symbol)
            logger.warning("voice %s has no id for %s, and leaves it out", self._voice.id, ascii(symbol))
        return []


def split(symbols: list[str], longest: int = MAX_PHONEMES) -> list[list[str]]:
    """Cut phonemes into parts of at most `longest`: after a clause if possible, else at a space, else anywhere."""
    parts = []
    while len(symbols) > longest:
        spaces = [n for n in range(1, longest) if symbols[n] == " "]
        ends = [n for n in spaces if symbols[n - 1] in _CLAUSE_ENDS]
        cut = (ends or spaces or [longest])[-1]
        parts.append(symbols[:cut])
        symbols = symbols[cut:]
    return [*parts, symbols]
