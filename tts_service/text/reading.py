"""Plain text in blocks: lines, paragraphs and pauses that it asks for, however long they are. Pure and lazy.

Lines that an editor broke at a column are one. Marks of Markdown that begin lines are taken off here; those within
lines by a step.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tts_service.errors import Code, RequestFailed
from tts_service.text.passage import Edit, Passage
from tts_service.text.segment import Block, Boundary

# What is looked at in one go, in characters: bounds the work between two segments.
WINDOW = 2000
MAX_PAUSE_S = 30.0

_LINE_END = re.compile(r"\r\n|[\n\r\x0b\x0c\x85\u2028\u2029]")
_PAUSE = re.compile(r"\[pause(?:\s*[:=]?\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(ms|s))?\s*\]", re.IGNORECASE)
# Lines that an editor has broken are not shorter.
_WRAPPED_CHARS = 45
_FULL_CHARS = 60
_SENTENCE_END = re.compile(r"[.!?:;…\"”»)]\s*$")
_ITEM = re.compile(r"\s{0,12}(?:[-*+•‣◦▪–—][ \t]+(?:\[[ xX]\][ \t]+)?|(?=[0-9]{1,3}[.)][ \t]))")
_NUMBERED = re.compile(r"\s{0,12}([0-9]{1,3})([.)])[ \t]+")
_HEADING = re.compile(r"\s{0,3}#{1,6}[ \t]+")
_HEADING_END = re.compile(r"[ \t]+#+\s*$")
_QUOTE = re.compile(r"\s{0,3}(?:>[ \t]?)+")
_RULE = re.compile(r"\s{0,3}(?:(?:[-*_=~][ \t]*){3,}|\|?(?:[ \t]*:?-{2,}:?[ \t]*\|)+(?:[ \t]*:?-{2,}:?)?[ \t]*)$")
_FENCE = re.compile(r"\s{0,3}(?:`{3,}|~{3,})[^`]{0,100}$")
_ROW = re.compile(r"\s{0,3}\|.*\|\s*$")


@dataclass
class _Line:
    start: int
    text: str
    complete: bool
    """False for a window of a line that goes on."""
    end: int
    """Behind its line end."""


def check_pauses(text: str) -> None:
    """Raise RequestFailed where the text asks for a longer pause than there is."""
    for match in _PAUSE.finditer(text) if "[" in text else ():
        if _seconds(match) > MAX_PAUSE_S:
            message = f"input has {match[0]} at character {match.start()}: a pause is at most {MAX_PAUSE_S:g} s"
            raise RequestFailed(Code.INVALID_REQUEST, message, param="input")


def read_text(text: str, *, markdown: bool, pause_s: float) -> Iterator[Block]:
    """Yield the blocks of a text, none longer than a window; `pause_s` is that of [pause] without a length."""
    held: Block | None = None
    line: _Line | None = None
    wrapped = False
    for line in _lines(text):
        if not line.text.strip() and line.complete and not wrapped:
            if held is not None and held.boundary is Boundary.LINE:
                held = Block(held.passage, Boundary.PARAGRAPH, speed=held.speed)
            continue
        passage, heading = _unmarked(line, markdown=markdown and not wrapped)
        joins = held is not None and held.boundary is Boundary.LINE and _is_wrapped(held.passage.text, line.text)
        if held is not None:
            yield _joined(held) if joins else held
            held = None
        wrapped = not line.complete
        boundary = Boundary.PARAGRAPH if heading else Boundary.LINE if line.complete else Boundary.NONE
        *before, held = _with_pauses(passage, boundary, pause_s)
        yield from before
    if held is not None:
        yield held


def _lines(text: str) -> Iterator[_Line]:
    at = 0
    while at < len(text):
        limit = at + WINDOW
        found = _LINE_END.search(text, at, limit)
        if found:
            yield _Line(at, text[at : found.start()], True, found.end())
            at = found.end()
        elif limit >= len(text):
            yield _Line(at, text[at:], True, len(text))
            return
        else:
            cut = _cut_before(text, at, limit)
            yield _Line(at, text[at:cut], False, cut)
            at = cut


def _cut_before(text: str, at: int, limit: int) -> int:
    """Return where a window ends: behind a space, and not within a mark like [pause:1s] or [[phonemes]]."""
    cut = text.rfind(" ", at + 1, limit) + 1 or limit
    opened = text.rfind("[", at + 1, cut)
    closed = text.find("]", opened, opened + 200) if opened > cut - 200 else -1
    return opened if closed >= cut else cut


def _is_wrapped(line: str, after: str) -> bool:
    """Return True where an editor broke a line at its column, and no person at a thought's end."""
    after = after.strip()
    length = len(line.rstrip())
    if length < _WRAPPED_CHARS or not after or _SENTENCE_END.search(line) or _ITEM.match(after):
        return False
    return after[0].islower() or (length >= _FULL_CHARS and length <= 100 and after[0].isalnum())


def _joined(block: Block) -> Block:
    """Return the block with a space for its line end, or none where a word was broken."""
    passage = block.passage
    if not passage.text.endswith((" ", "-")):
        end = passage.ends[-1] if passage.ends else 0
        passage = Passage.join([passage, Passage(" ", [end], [end + 1], b"\0")])
    return Block(passage, Boundary.NONE, speed=block.speed)


def _unmarked(line: _Line, *, markdown: bool) -> tuple[Passage, bool]:
    """Return a line without the marks of its kind, and whether it is a heading."""
    passage = Passage.of(line.text, line.start)
    if not markdown:
        return passage, False
    if _RULE.match(line.text) or _FENCE.match(line.text):
        return _dropped(passage, 0, len(passage)), True
    quote = _QUOTE.match(line.text)
    # "> 5" may be a comparison.
    if quote and not line.text[quote.end() : quote.end() + 1].isdigit():
        passage = _dropped(passage, 0, quote.end())
    heading = _HEADING.match(passage.text)
    if heading:
        passage = _dropped(passage, 0, heading.end())
        end = _HEADING_END.search(passage.text)
        return (_dropped(passage, end.start(), len(passage)) if end else passage), True
    item = _ITEM.match(passage.text)
    if item and item.end():
        passage = _dropped(passage, 0, item.end())
    number = _NUMBERED.match(passage.text)
    if number:
        passage = passage.replaced("lists", [(number.start(2), number.end(2), ",")], final=False)
    if _ROW.match(passage.text):
        return _cells(passage), False
    return passage, False


def _cells(passage: Passage) -> Passage:
    """Return a table's row as a list of its cells."""
    bars = [match.start() for match in re.finditer(r"\|", passage.text)]
    changes = [(bar, bar + 1, "" if bar in (bars[0], bars[-1]) else ",") for bar in bars]
    return passage.replaced("markup", changes, final=False).sub("markup", re.compile(r"\s+,"), ",", final=False)


def _dropped(passage: Passage, start: int, end: int) -> Passage:
    return passage.replaced("markup", [(start, end, "")], final=False) if start < end else passage


def _with_pauses(passage: Passage, boundary: Boundary, pause_s: float) -> list[Block]:
    """Return the passage cut where it asks for pauses."""
    blocks, at = list[Block](), 0
    for match in _PAUSE.finditer(passage.text):
        before = passage.cut(at, match.start())
        place = passage.source(*match.span())
        edit = Edit("pause", *place, match[0], "")
        edits = (*(passage.edits if not blocks else ()), edit)
        seconds = min(_seconds(match) if match[1] else pause_s, MAX_PAUSE_S)
        before = Passage(before.text, before.starts, before.ends, before.fixed, edits)
        blocks.append(Block(before, Boundary.BREAK, seconds))
        at = match.end()
    rest = passage.cut(at, len(passage)) if blocks else passage
    return [*blocks, Block(rest, boundary)]


def _seconds(match: re.Match[str]) -> float:
    return float(match[1] or 0) * (0.001 if (match[2] or "").lower() == "ms" else 1.0)
