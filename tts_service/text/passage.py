"""A piece of text on its way to being spoken, which knows where in the user's text each character is from. Pure."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass

Replace = Callable[[re.Match[str]], str | None]


@dataclass(frozen=True, slots=True)
class Edit:
    """What one step changed, for people to look at."""

    rule: str
    start: int
    """Of the user's text that was changed, in characters."""
    end: int
    before: str
    after: str
    """Empty where something was taken out."""


class Passage:
    """Text with the place of each character in the user's text; immutable.

    Characters that a step wrote in place of others all have the place of the whole that they stand for.
    """

    __slots__ = ("edits", "ends", "fixed", "starts", "text")

    def __init__(
        self, text: str, starts: Iterable[int], ends: Iterable[int], fixed: bytes, edits: tuple[Edit, ...] = ()
    ) -> None:
        self.text = text
        # Machine words and not objects: a gateway reads many texts at a time.
        self.starts = array("q", starts)
        self.ends = array("q", ends)
        self.fixed = fixed
        """1 for each character that is as it shall be spoken: later steps leave it alone."""
        self.edits = edits

    @classmethod
    def of(cls, text: str, start: int = 0) -> Passage:
        """Return the user's own text, which begins at character `start` of all of it."""
        end = start + len(text)
        return cls(text, range(start, end), range(start + 1, end + 1), bytes(len(text)))

    @classmethod
    def spoken(cls, text: str, start: int, end: int) -> Passage:
        """Return words that stand for characters `start` to `end` of the user's text, and that no step may change."""
        return cls(text, [start] * len(text), [end] * len(text), b"\1" * len(text))

    @classmethod
    def join(cls, parts: Iterable[Passage]) -> Passage:
        """Return the parts, one after the other."""
        parts = list(parts)
        if len(parts) == 1:
            return parts[0]
        return cls(
            "".join(part.text for part in parts),
            [place for part in parts for place in part.starts],
            [place for part in parts for place in part.ends],
            b"".join(part.fixed for part in parts),
            tuple(edit for part in parts for edit in part.edits),
        )

    def __len__(self) -> int:
        return len(self.text)

    def cut(self, start: int, end: int) -> Passage:
        """Return characters `start` to `end`, without the edits: they stay with the whole."""
        return Passage(self.text[start:end], self.starts[start:end], self.ends[start:end], self.fixed[start:end])

    def strip(self) -> Passage:
        """Return it without white space at its ends."""
        start = len(self.text) - len(self.text.lstrip())
        end = len(self.text.rstrip())
        return self if (start, end) == (0, len(self.text)) else self.cut(start, max(start, end))

    def source(self, start: int, end: int) -> tuple[int, int]:
        """Return the characters of the user's text that `start` to `end` of this one were made of."""
        return min(self.starts[start:end]), max(self.ends[start:end])

    def sub(self, rule: str, pattern: re.Pattern[str], replace: Replace | str, *, final: bool = True) -> Passage:
        """Return it with each match replaced; a match is left alone where `replace` returns None.

        `final`: later steps leave the new words alone. A match that touches such words of an earlier step is no match.
        """
        changes = []
        for match in pattern.finditer(self.text):
            start, end = match.span()
            if start == end or 1 in self.fixed[start:end]:
                continue
            words = replace if isinstance(replace, str) else replace(match)
            if words is not None and words != match[0]:
                changes.append((start, end, words))
        return self.replaced(rule, changes, final=final) if changes else self

    def replaced(self, rule: str, changes: list[tuple[int, int, str]], *, final: bool = True) -> Passage:
        """Return it with characters `start` to `end` of each change, in order, replaced by new ones."""
        texts, starts, ends, fixed, edits = [], array("q"), array("q"), [], []
        at = 0
        for start, end, words in changes:
            place = self.source(start, end)
            texts += [self.text[at:start], words]
            starts += self.starts[at:start]
            ends += self.ends[at:start]
            if len(words) == end - start and not final:
                # Character by character, as where capitals become small letters.
                starts += self.starts[start:end]
                ends += self.ends[start:end]
            else:
                starts += array("q", [place[0]]) * len(words)
                ends += array("q", [place[1]]) * len(words)
            fixed += [self.fixed[at:start], (b"\1" if final else b"\0") * len(words)]
            edits.append(Edit(rule, *place, self.text[start:end], words))
            at = end
        return Passage(
            "".join(texts) + self.text[at:],
            starts + self.starts[at:],
            ends + self.ends[at:],
            b"".join(fixed) + self.fixed[at:],
            (*self.edits, *edits),
        )
