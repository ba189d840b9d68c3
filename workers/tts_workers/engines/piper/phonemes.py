"""From text to phonemes, by the espeak-ng in the package piper-tts (GPL-3.0; part of the extra `piper` only).

espeak-ng is global state: one a process, used by the compute thread alone. Its language is set before every call, as
the voices of one worker take turns.
"""

from __future__ import annotations

import functools
import unicodedata
from dataclasses import dataclass
from typing import Any

from tts_service.errors import EngineBroken
from tts_workers.engines.piper.scripts import cannot_speak, check_letters, scripts_of
from tts_workers.engines.piper.spoken import RAW, pieces, plain
from tts_workers.engines.piper.voice import VoiceFile


@dataclass(frozen=True)
class Phonemes:
    """One sentence of phonemes."""

    symbols: list[str]
    raw: list[bool]
    """Which of them stood in the text, in [[ ]]; as long as `symbols`."""


class Espeak:
    """The process's espeak-ng; get it by `espeak()`."""

    def __init__(self, phonemizer: Any) -> None:
        self._phonemizer = phonemizer

    def sentences(self, language: str, text: str, clusters: set[tuple[str, ...]]) -> list[list[str]]:
        """Return the phonemes of each sentence of `text`, punctuation included, as Piper's voices are trained on."""
        sentences: list[list[str]] = self._phonemizer.phonemize(language, text, clusters or None)
        return sentences

    def check(self, language: str) -> None:
        """Raise EngineBroken where there is no such language."""
        try:
            self._phonemizer.phonemize(language, "a")
        except RuntimeError as error:
            raise EngineBroken(f"espeak-ng has no voice {language!r}") from error


@functools.cache
def espeak() -> Espeak:
    """Return the process's espeak-ng. EngineBroken where the package is missing."""
    try:
        from piper.phonemize_espeak import EspeakPhonemizer
    except ImportError as error:
        raise EngineBroken(f"the package piper-tts cannot be imported (extra `piper`): {error}") from error
    return Espeak(EspeakPhonemizer())


class Reader:
    """Reads texts for one voice."""

    def __init__(self, voice: VoiceFile) -> None:
        self._voice = voice
        self._scripts = scripts_of(voice.config.espeak.voice)
        self._clusters = {tuple(cluster) for cluster in voice.config.vowel_clusters}
        self._heard: set[str] = set()
        """Unusual letters that espeak is known to have a sound for."""

    def load(self) -> None:
        """Raise EngineBroken where the voice's texts cannot be read."""
        if self._voice.phoneme_type == "espeak":
            espeak().check(self._voice.config.espeak.voice)

    def sentences(self, text: str) -> list[Phonemes]:
        """Return the phonemes of a text. RequestFailed where it has something that cannot be spoken."""
        if self._voice.phoneme_type == "text":
            symbols = list(unicodedata.normalize("NFD", text))
            return [Phonemes(symbols, [False] * len(symbols))]
        return self._with_raw(text)

    def _with_raw(self, text: str) -> list[Phonemes]:
        """Read what is outside [[ ]], and put what is inside where it stood, by Piper's own rule."""
        parts = RAW.split(text)
        found = list[Phonemes]()
        after_raw = False
        for n, part in enumerate(parts):
            if n % 2:
                if not found:
                    found.append(Phonemes([], []))
                before = " " if parts[n - 1].endswith(" ") else ""
                after = " " if parts[n + 1].startswith(" ") else ""
                _extend(found[-1], list(before + part[2:-2].strip() + after), raw=True)
                after_raw = True
                continue
            read = self._read(part) if part.strip() else []
            if after_raw and read:
                _extend(found[-1], read.pop(0), raw=False)
            found += [Phonemes(symbols, [False] * len(symbols)) for symbols in read]
            after_raw = after_raw and not part.strip()
        return found

    def _read(self, text: str) -> list[list[str]]:
        text = plain(text)
        check_letters(text, self._scripts, self._voice.id)
        self._check_sounds(text)
        language, found = self._voice.config.espeak.voice, list[list[str]]()
        for n, piece in enumerate(pieces(text)):
            read = espeak().sentences(language, piece, self._clusters)
            if n and found and read:
                # Cut for length, not at a sentence's end.
                found[-1] += [" ", *read.pop(0)]
            found += read
        return found

    def _check_sounds(self, text: str) -> None:
        """Raise RequestFailed where espeak is silent about a letter of its own scripts (seen: U+A7B3)."""
        language = self._voice.config.espeak.voice
        for char in set(text) - self._heard:
            name = unicodedata.name(char, "")
            if ord(char) < 0x250 or not char.isalpha() or not name.startswith(("LATIN", "GREEK", "CYRILLIC")):
                continue
            if not any("".join(symbols).strip() for symbols in espeak().sentences(language, char, set())):
                raise cannot_speak(self._voice.id, char, name)
            self._heard.add(char)


def _extend(sentence: Phonemes, symbols: list[str], *, raw: bool) -> None:
    sentence.symbols.extend(symbols)
    sentence.raw.extend([raw] * len(symbols))
