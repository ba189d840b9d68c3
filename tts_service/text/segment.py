"""What one job is to speak, and where in the user's text it is from. Pure data."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from tts_service.text.passage import Edit, Passage


class Boundary(enum.Enum):
    """What comes after a piece of text."""

    NONE = "none"
    """It goes on."""
    CLAUSE = "clause"
    """A cut within a sentence: no pause."""
    SENTENCE = "sentence"
    LINE = "line"
    PARAGRAPH = "paragraph"
    BREAK = "break"
    """A pause that the text asks for, and that replaces the others."""


@dataclass(frozen=True)
class Pauses:
    """Silence by boundary, on top of what a voice leaves itself; seconds."""

    sentence_s: float = 0.0
    line_s: float = 0.15
    paragraph_s: float = 0.4

    def after(self, boundary: Boundary) -> float:
        """Return the silence after a segment that ends in this."""
        by_kind = {
            Boundary.SENTENCE: self.sentence_s,
            Boundary.LINE: max(self.sentence_s, self.line_s),
            Boundary.PARAGRAPH: max(self.sentence_s, self.paragraph_s),
        }
        return by_kind.get(boundary, 0.0)


@dataclass(frozen=True)
class Block:
    """A piece of the user's text between two hard boundaries, or a window of one."""

    passage: Passage
    boundary: Boundary
    pause_s: float = 0.0
    """Of a BREAK."""
    speed: float = 1.0
    """Times the request's."""


@dataclass(frozen=True)
class SegmentText:
    """A segment: sentence, clause, or what a limit left of one."""

    text: str
    start: int = 0
    """First character of the user's text that it speaks."""
    end: int = 0
    """Behind the last one."""
    pause_before_s: float = 0.0
    pause_after_s: float = 0.0
    speed: float = 1.0
    """Times the request's."""
    passage: Passage | None = None
    edits: tuple[Edit, ...] = ()
    """What was changed on the way, in its sentence."""

    def source(self, start: int, end: int) -> tuple[int, int]:
        """Return the characters of the user's text that characters `start` to `end` of `text` speak."""
        if self.passage is None:
            return self.start + start, self.start + end
        return self.passage.source(start, end)


NOTHING_YET = SegmentText("")
"""What an iterator of segments yields while its text is still coming."""
