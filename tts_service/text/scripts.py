"""Which letters a voice knows, and which symbols are read aloud. Pure."""

from __future__ import annotations

import unicodedata

from tts_service.allowed import shorten
from tts_service.errors import Code, RequestFailed

_SPOKEN_SYMBOLS = frozenset("&@%+=")
# Characters looked at in one go: a set of them is made without letting other threads run.
_STRETCH = 16_384


def is_speakable(text: str) -> bool:
    """Return True when `text` has a letter, a digit or a symbol that is read aloud."""
    return any(char.isalnum() or char in _SPOKEN_SYMBOLS for char in text)


def check_scripts(text: str, scripts: list[str], voice: str) -> None:
    """Raise RequestFailed where `text` has a letter of a script that the voice does not know; [] stands for all."""
    if not scripts or text.isascii():
        return
    known = set[str]()
    for start in range(0, len(text), _STRETCH):
        stretch = text[start : start + _STRETCH]
        unknown = {char for char in set(stretch) - known if not _is_known(char, scripts)}
        if unknown:
            position = min(stretch.index(char) for char in unknown)
            char = stretch[position]
            name = unicodedata.name(unicodedata.normalize("NFKC", char)[0], "")
            message = f"input has {shorten(char)} ({name or 'unnamed'}) at character {start + position}: "
            message += f"voice {voice} speaks {' and '.join(map(str.title, scripts))} letters only"
            raise RequestFailed(Code.UNSUPPORTED_TEXT, message, param="input")
        known |= set(stretch)


def _is_known(char: str, scripts: list[str]) -> bool:
    if char.isascii() or not unicodedata.category(char).startswith("L"):
        return True
    # The compatibility form, so that µ counts as the Greek letter and ﬁ as Latin ones.
    return unicodedata.name(unicodedata.normalize("NFKC", char)[0], "").startswith(tuple(scripts))
