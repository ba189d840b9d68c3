"""The name that a browser gives to a downloaded answer, made from its text. Pure."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote

LONGEST = 60


def disposition(text: str, suffix: str, *, download: bool) -> str:
    """Return a Content-Disposition (RFC 6266) with a name in ASCII, and one in UTF-8 where that says more."""
    name = _words(unicodedata.normalize("NFC", text))
    plain = _words(unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii"))
    value = f'{"attachment" if download else "inline"}; filename="{plain or "speech"}.{suffix}"'
    if name and name != plain:
        value += f"; filename*=UTF-8''{quote(f'{name}.{suffix}', safe='')}"
    return value


def _words(text: str) -> str:
    """Return the words of a text, joined by single spaces: no dots, slashes, quotes or control characters."""
    words: list[str] = []
    # Marks belong to their letters in many scripts.
    kept = "".join(char if _is_kept(char) else " " for char in text[: 8 * LONGEST])
    for word in re.split(r"[ \s]+", kept.strip()):
        if words and len(" ".join(words)) + 1 + len(word) > LONGEST:
            break
        words.append(word[:LONGEST])
    return " ".join(words).strip("-_ ")


def _is_kept(char: str) -> bool:
    return char in "-_" or unicodedata.category(char)[0] in "LNM"
