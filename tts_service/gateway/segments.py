"""Cuts a text into segments: sentences by sentencex, then clauses, then words, within a length. Pure and lazy.

Every speakable character of the text is in exactly one segment, in order.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

import sentencex

from tts_service.allowed import shorten
from tts_service.errors import Code, RequestFailed

_LINE_END = re.compile(r"[\r\n\u2028\u2029]+")
_CLAUSE_END = re.compile(r"(?<=[,;:)\]])\s+|(?<=[—–])")
# Direction marks, soft hyphens and joiners: nobody hears them, but a voice's word list does not know words with them.
_UNHEARD = dict.fromkeys(
    [0x00AD, 0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), 0x2060, *range(0x2066, 0x206A), 0xFEFF]
)
_SPOKEN_SYMBOLS = frozenset("&@%+=")


def segments(text: str, language: str, max_chars: int) -> Iterator[str]:
    """Yield the segments of `text`, each at most `max_chars` characters and with something to speak in it.

    Pieces without anything to speak, such as a lone quotation mark, go to the segment before them or are left out
    where there is none.
    """
    held = ""
    for piece in _sentences(text, language):
        if not is_speakable(piece):
            held = f"{held} {piece}" if held and len(held) + 1 + len(piece) <= max_chars else held
            continue
        if held:
            yield from filter(is_speakable, _cut(held, max_chars))
        held = piece
    if held:
        yield from filter(is_speakable, _cut(held, max_chars))


def is_speakable(text: str) -> bool:
    """Return True when `text` has a letter, a digit or a symbol that is read aloud."""
    return any(char.isalnum() or char in _SPOKEN_SYMBOLS for char in text)


def check_scripts(text: str, scripts: list[str], voice: str) -> None:
    """Raise RequestFailed where `text` has a letter of a script that the voice does not know; [] stands for all."""
    if not scripts or text.isascii():
        return
    for position, char in enumerate(text):
        if char.isascii() or not unicodedata.category(char).startswith("L"):
            continue
        # The compatibility form, so that µ counts as the Greek letter and ﬁ as Latin ones.
        name = unicodedata.name(unicodedata.normalize("NFKC", char)[0], "")
        if not name.startswith(tuple(scripts)):
            message = f"input has {shorten(char)} ({name or 'unnamed'}) at character {position}: "
            message += f"voice {voice} speaks {' and '.join(map(str.title, scripts))} letters only"
            raise RequestFailed(Code.UNSUPPORTED_TEXT, message, param="input")


def _sentences(text: str, language: str) -> Iterator[str]:
    for line in _LINE_END.split(text):
        if line.strip():
            for sentence in sentencex.segment(language.partition("-")[0] or "en", line.translate(_UNHEARD)):
                if sentence.strip():
                    yield sentence.strip()


def _cut(sentence: str, max_chars: int) -> Iterator[str]:
    """Yield the sentence in pieces of at most `max_chars`: as few as clause ends allow, else cut at a space."""
    held = ""
    for clause in _CLAUSE_END.split(sentence) if len(sentence) > max_chars else [sentence]:
        for piece in _forced(clause.strip(), max_chars):
            if not held:
                held = piece
            elif len(held) + 1 + len(piece) <= max_chars:
                held = f"{held} {piece}"
            else:
                yield held
                held = piece
    if held:
        yield held


def _forced(clause: str, max_chars: int) -> Iterator[str]:
    while len(clause) > max_chars:
        cut = clause.rfind(" ", 1, max_chars + 1)
        cut = cut if cut > 0 else max_chars
        yield clause[:cut].rstrip()
        clause = clause[cut:].lstrip()
    if clause:
        yield clause
