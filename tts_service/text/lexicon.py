"""The pronunciation lexicon: a file per language, read again when it changes. Used by request threads; locks itself."""

from __future__ import annotations

import logging
import re
import threading
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from tts_service.errors import SettingsError
from tts_service.text.languages import Language
from tts_service.text.passage import Passage

logger = logging.getLogger(__name__)

MAX_BYTES = 16 << 20
_TOKEN = re.compile(r"[^\W_]+(?:['’.&+\-][^\W_]+)*")


@dataclass
class Entries:
    """One file's words, by the first word of each."""

    by_first: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """Written and spoken, the longest written first; keys in small letters."""

    def add(self, written: str, spoken: str) -> None:
        first = _TOKEN.search(written)
        key = (first[0] if first else written).casefold()
        entries = self.by_first.setdefault(key, [])
        entries.append((written, spoken))
        entries.sort(key=lambda entry: -len(entry[0]))


class Lexicon:
    """The files `<language>.toml` of a directory: `en-GB.toml` before `en.toml`. A bad file is logged, once."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._read: dict[str, tuple[tuple[int, int, int] | None, Entries]] = {}

    def apply(self, passage: Passage, language: Language, *, raw_phonemes: bool) -> Passage:
        """Return the passage with the words of the lexicon as it says them; later steps leave these alone."""
        names = [language.code] if not language.region else [f"{language.code}-{language.region}", language.code]
        for name in names:
            entries = self._entries(name)
            if entries.by_first:
                passage = _replaced(passage, entries, raw_phonemes=raw_phonemes)
        return passage

    def refresh(self, language: Language) -> None:
        """Look whether the files of a language have changed; once a request is often enough."""
        for name in {language.code, f"{language.code}-{language.region}"}:
            self._load(name)

    def _entries(self, name: str) -> Entries:
        found = self._read.get(name)
        return found[1] if found else Entries()

    def _load(self, name: str) -> None:
        if not re.fullmatch(r"[a-z]{2,8}(-[A-Z]{2})?", name):
            return
        path = self._directory / f"{name}.toml"
        with self._lock:
            before = self._read.get(name, (None, Entries()))
            try:
                stat = path.stat()
                state = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
                if state == before[0]:
                    return
                entries = read_entries(path)
            except FileNotFoundError:
                self._read[name] = (None, Entries())
                return
            except (OSError, ValueError) as error:
                # The old one stays, and is not complained about again until the file changes.
                logger.error("lexicon %s: %s; what was read before stays in use", path.name, error)
                self._read[name] = (state if "state" in locals() else None, before[1])
                return
            self._read[name] = (state, entries)


def check_lexicon(directory: Path) -> None:
    """Raise SettingsError where a service would start without a lexicon that it is to have."""
    if not directory.is_dir():
        raise SettingsError(f"gateway.lexicon = {str(directory)!r}: there is no such directory")
    for path in sorted(directory.glob("*.toml")):
        try:
            read_entries(path)
        except (OSError, ValueError) as error:
            raise SettingsError(f"gateway.lexicon: {path}: {error}") from error


def read_entries(path: Path) -> Entries:
    """Return a file's entries. ValueError names what is wrong in it."""
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"is longer than {MAX_BYTES} bytes")
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"is not UTF-8 at byte {error.start}") from error
    unknown = set(tables) - {"words", "phonemes"}
    if unknown:
        raise ValueError(f"has {sorted(unknown)[0]!r}: expected the tables [words] and [phonemes]")
    entries = Entries()
    for table, values in tables.items():
        if not isinstance(values, dict):
            raise ValueError(f"{table} is no table")  # noqa: TRY004
        for written, spoken in values.items():
            if not isinstance(spoken, str) or not spoken.strip() or not written.strip():
                raise ValueError(f"{table}.{written} = {spoken!r}: expected text")
            entries.add(written.strip(), spoken.strip() if table == "words" else f"[[{spoken.strip()}]]")
    return entries


def _replaced(passage: Passage, entries: Entries, *, raw_phonemes: bool) -> Passage:
    changes, at = list[tuple[int, int, str]](), 0
    text = passage.text
    for token in _TOKEN.finditer(text):
        if token.start() < at:
            continue
        for written, spoken in entries.by_first.get(token[0].casefold(), ()):
            end = token.start() + len(written)
            found = text[token.start() : end]
            # Written in small letters an entry stands for the word in any case.
            fits = found == written or (written == written.lower() and found.casefold() == written.casefold())
            if not fits or 1 in passage.fixed[token.start() : end] or text[end : end + 1].isalnum():
                continue
            if spoken.startswith("[[") and not raw_phonemes:
                continue
            changes.append((token.start(), end, spoken))
            at = end
            break
    return passage.replaced("lexicon", changes) if changes else passage
