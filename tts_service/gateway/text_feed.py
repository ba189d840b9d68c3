"""A text that comes in pieces, handed on in segments as its sentences complete. Pure; one object a context.

The segments are those of the whole text in one piece, as far as a sentence's end can be told before the text goes on.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import replace

from tts_service.errors import Code, RequestFailed
from tts_service.text.front_end import Reading, check, last_sentence, segments
from tts_service.text.scripts import check_scripts
from tts_service.text.segment import NOTHING_YET, Boundary, SegmentText

_SENTENCE_END = re.compile("[.!?\u2026\u3002\uff01\uff1f]['\")\\]\u201d\u2019]*\\s*\\Z")
_PARAGRAPH_END = re.compile(r"\n[ \t\r]*\n\s*\Z")


class TextFeed:
    """Iterate it for segments: NOTHING_YET while the next one is not complete; it ends after `end`."""

    def __init__(self, reading: Reading, scripts: list[str], voice: str, max_chars: int) -> None:
        self.text = ""
        """All that has come."""
        self.was_flushed = True
        """False where text has come after the last `flush`."""
        self._reading = reading
        self._scripts = scripts
        self._voice = voice
        self._max_chars = max_chars
        self._held = ""
        """The beginning of a sentence."""
        self._pause_s = 0.0
        """Before what comes next."""
        self._ready: deque[SegmentText] = deque()
        self._ended = False

    @property
    def has_ready(self) -> bool:
        """True where a segment is complete."""
        return bool(self._ready)

    @property
    def is_ended(self) -> bool:
        """True after `end`."""
        return self._ended

    def push(self, text: str, *, eager: bool = False) -> None:
        """Add text; with `eager`, a full stop at its end ends the sentence. RequestFailed where it cannot be spoken."""
        n_chars = len(self.text) + len(text)
        if n_chars > self._max_chars:
            message = f"text has {n_chars} characters by now: expected at most {self._max_chars}"
            raise RequestFailed(Code.TEXT_TOO_LONG, message, param="text")
        check_scripts(text, self._scripts, self._voice)
        self.text += text
        self.was_flushed = self.was_flushed and not text.strip()
        self._held += text
        is_complete = _PARAGRAPH_END.search(self._held) or (eager and _SENTENCE_END.search(self._held))
        cut = len(self._held) if is_complete else self._end_of_complete()
        complete, self._held = self._held[:cut], self._held[cut:]
        self._take(complete)

    def flush(self) -> None:
        """Take what has come for complete."""
        self.was_flushed = True
        held, self._held = self._held, ""
        self._take(held)

    def end(self) -> None:
        """Nothing more will come."""
        self.flush()
        self._ended = True

    def __iter__(self) -> Iterator[SegmentText]:
        return self

    def __next__(self) -> SegmentText:
        if self._ready:
            return self._ready.popleft()
        if self._ended:
            raise StopIteration
        return NOTHING_YET

    def _take(self, text: str) -> None:
        if not text.strip():
            return
        check(text, self._reading)
        offset = len(self.text) - len(self._held) - len(text)
        found = list(segments(text, self._reading))
        if not found:
            return
        # What separates sentences is known when there is another one.
        found[0] = replace(found[0], pause_before_s=max(found[0].pause_before_s, self._pause_s))
        self._ready.extend(replace(one, start=one.start + offset, end=one.end + offset, passage=None) for one in found)
        self._reading = replace(self._reading, first_chars=0)
        n_lines = text[found[-1].end :].count("\n")
        boundary = Boundary.PARAGRAPH if n_lines > 1 else Boundary.LINE if n_lines else Boundary.SENTENCE
        self._pause_s = self._reading.pauses.after(boundary)

    def _end_of_complete(self) -> int:
        """Return where the last sentence begins, which may go on; never is more held than the longest segment."""
        begin = last_sentence(self._held, self._reading)
        longest = self._reading.max_chars
        if len(self._held) - begin > longest:
            space = self._held.rfind(" ", begin, begin + longest + 1)
            return space + 1 if space > begin else begin + longest
        return begin
