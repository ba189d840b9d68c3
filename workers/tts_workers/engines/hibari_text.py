"""Writes text so that hibari's own rules neither trip over it nor drop part of it. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

# hibari has no word for a number of more digits (IndexError in its cardinal()); they are spoken one by one.
_LONG_NUMBER = re.compile(r"[\d,]{37,}")
_RAW = re.compile(r"\[\[([^\[\]]{1,400})\]\]")
# Its alphabet has a letter of its own for each diphthong and affricate of American English.
_LETTERS = {
    "t͡ʃ": "ʧ", "tʃ": "ʧ", "d͡ʒ": "ʤ", "dʒ": "ʤ", "eɪ": "A", "aɪ": "I", "oʊ": "O", "əʊ": "O", "aʊ": "W", "ɔɪ": "Y",
    "ɚ": "əɹ", "ɝ": "ɜɹ", "r": "ɹ", "g": "ɡ", "ɫ": "l", "ː": "", ".": "", "\u0361": "", "\u032f": "", "'": "ˈ",
}  # fmt: skip
_IPA = re.compile("|".join(re.escape(symbol) for symbol in sorted(_LETTERS, key=len, reverse=True)))


def digestible(text: str) -> str:
    """Return a text that is spoken like `text` and raises nothing in hibari-tts 0.2.1.

    Phonemes of the IPA in [[ ]] become the package's markup for them.
    """
    parts = _RAW.split(text)
    return "".join(_digestible(part) if n % 2 == 0 else f"[x](/{phonemes(part)}/)" for n, part in enumerate(parts))


def phonemes(ipa: str) -> str:
    """Return phonemes of the IPA in the package's letters."""
    return " ".join(_IPA.sub(lambda symbol: _LETTERS[symbol[0]], ipa).split())


def raw_phonemes(text: str) -> set[str]:
    """Return the symbols in [[ ]], in the package's letters."""
    return set("".join(phonemes(match[1]) for match in _RAW.finditer(text))) - {" "}


def _digestible(text: str) -> str:
    plain = "".join(_plain_digit(char) for char in text)
    # "İ" has two characters in lower case, which hibari's stress rules cannot align (TypeError); "[here](there)" is
    # its markup for phonemes, and "there" would be dropped.
    plain = plain.replace("İ", "I").replace("](", "] (")
    return _LONG_NUMBER.sub(lambda number: " ".join(number[0]), plain)


def _plain_digit(char: str) -> str:
    """Return ① as 1 and ⑴ as (1): int() refuses them (ValueError). Squares and cubes have words of their own."""
    is_odd_digit = char.isdigit() and not char.isdecimal() and char not in "²³"
    return unicodedata.normalize("NFKC", char) if is_odd_digit else char


def in_pieces(oov: Callable[[str], str | None], word: str, max_chars: int) -> str | None:
    """Return the phonemes of an unknown word of any length; the net itself drops what is beyond `max_chars`."""
    pieces = (oov(word[start : start + max_chars]) for start in range(0, len(word), max_chars))
    return "".join(piece for piece in pieces if piece) or None
