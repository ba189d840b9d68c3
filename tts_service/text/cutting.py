"""A spoken sentence in pieces within a length: whole, else at clauses, at spaces, or anywhere. Pure and lazy."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tts_service.text.passage import Passage

_CLAUSE_END = re.compile(r"(?<=[,;:)\]…])\s+|(?<=[—–])(?!\d)|(?<=[、，；：])")
_WORD_END = re.compile(r"\s+")


def cut(sentence: Passage, max_chars: int, first_chars: int = 0) -> Iterator[Passage]:
    """Yield the sentence in as few pieces as clause ends allow; the first ends at a clause within `first_chars`."""
    start = 0
    if first_chars and len(sentence) > first_chars:
        ends = [match.end() for match in _CLAUSE_END.finditer(sentence.text, 0, first_chars + 1)]
        if ends:
            yield from _pieces(sentence.cut(0, ends[-1]).strip(), max_chars)
            start = ends[-1]
    yield from _pieces(sentence.cut(start, len(sentence)).strip() if start else sentence.strip(), max_chars)


def _pieces(sentence: Passage, max_chars: int) -> Iterator[Passage]:
    at = 0
    while len(sentence) - at > max_chars:
        end = _end(sentence.text, at, max_chars)
        yield sentence.cut(at, end).strip()
        at = end + len(sentence.text[end:]) - len(sentence.text[end:].lstrip())
    if at < len(sentence):
        yield sentence.cut(at, len(sentence)).strip()


def _end(text: str, at: int, max_chars: int) -> int:
    """Return where a piece that begins at `at` ends: it and the spaces at its end may pass the limit by these."""
    limit = at + max_chars
    opened = text.rfind("[[", at, limit)
    raw = opened > at and text.find("]]", opened) + 2 > limit
    clauses = [match.start() for match in _CLAUSE_END.finditer(text, at + 1, limit + 2) if match.start() <= limit]
    if clauses and not raw and clauses[-1] > at:
        return clauses[-1]
    space = text.rfind(" ", at + 1, (opened if raw else limit) + 1)
    return space if space > at else opened if raw else limit
