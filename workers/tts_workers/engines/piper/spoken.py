"""What of a text espeak is given: its rare characters written plainly, in pieces that it does not cut short. Pure."""

from __future__ import annotations

import re
import unicodedata

RAW = re.compile(r"(\[\[.*?\]\])", re.DOTALL)

# Compatibility forms that espeak has no words for (seen: "5 ℃" loses its degrees, "①" all of itself).
_PLAIN_FORMS = ("<circle>", "<square>", "<compat>")
# Letters and digits only: a full-width comma is a comma to it.
_PLAIN_FORMS_OF_WORDS = ("<wide>", "<narrow>", "<font>")
# Those that it has words for, or rules.
_KNOWN_FORMS = frozenset("№…µ")

# Measured on espeak-ng of piper-tts 1.8: it drops what is beyond 200 phonemes of a word (44 digits, 100 letters of an
# ordinary word, 19 "w") and beyond 1000 of a clause (130 digits).
LONGEST_WORD, LONGEST_SPELLED_WORD, WORD_PIECE = 80, 18, 15
CLAUSE_WEIGHT = 600.0


def plain(text: str) -> str:
    """Return a text that is read like `text`, without characters that espeak passes over or trips on."""
    return "".join(_plain(char) for char in unicodedata.normalize("NFC", text))


def _plain(char: str) -> str:
    if char.isascii():
        # espeakbridge refuses NUL; the others are white space, or nothing to hear.
        return char if char.isprintable() else " "
    if char.isdecimal():
        return str(unicodedata.decimal(char))
    form = unicodedata.decomposition(char).partition(" ")[0]
    is_unknown = form in _PLAIN_FORMS or (form in _PLAIN_FORMS_OF_WORDS and char.isalnum())
    return unicodedata.normalize("NFKC", char) if is_unknown and char not in _KNOWN_FORMS else char


def pieces(text: str) -> list[str]:
    """Return `text` cut at spaces into pieces that espeak reads to their ends; nearly always one."""
    found, held, weight = list[str](), list[str](), 0.0
    for word in _words(text):
        word_weight = sum(_weight(char) for char in word) + 1
        if held and weight + word_weight > CLAUSE_WEIGHT:
            found.append(" ".join(held))
            held, weight = [], 0.0
        held.append(word)
        # A clause begins anew. (After a full stop not always: it may be an abbreviation's.)
        weight = 0.0 if word[-1] in ",;:!?" else weight + word_weight
    return [*found, " ".join(held)] if held else found


def _words(text: str) -> list[str]:
    words = list[str]()
    for word in text.split():
        # Scripts without capitals may be without spaces, too: there espeak finds the words.
        has_words = any(unicodedata.category(char) == "Lo" for char in word)
        longest = LONGEST_WORD if any(char.islower() for char in word) else LONGEST_SPELLED_WORD
        if has_words or len(word) <= longest:
            words.append(word)
        else:
            words += [word[start : start + WORD_PIECE] for start in range(0, len(word), WORD_PIECE)]
    return words


def _weight(char: str) -> float:
    """Return how many phonemes a character may become."""
    if char.isalpha():
        return 3.0 if char.isupper() else 1.5
    if char.isdigit():
        return 10.0
    return 1.0 if char in ".,;:!?'\"()-" else 12.0


def is_heard(symbol: str) -> bool:
    """Return True for sounds, letters and digits; False for stress, length, other marks, punctuation and spaces."""
    return any(unicodedata.category(char) in ("Ll", "Lu", "Lo", "Lt", "Nd", "Nl", "No") for char in symbol)
