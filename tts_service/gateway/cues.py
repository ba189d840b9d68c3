"""From words to captions: sentences cut into cues that can be read, and the files SubRip and WebVTT. Pure."""

from __future__ import annotations

import html
import itertools
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from tts_service.gateway.delivered_words import DeliveredWord
from tts_service.text.segment import SegmentText

# What broadcasters allow: two lines of 42 characters.
LINE_CHARS = 42
MAX_LINES = 2
# A shorter cue stays this long, where nothing follows at once.
SHORTEST_S = 1.0
_ENDS_CLAUSE = re.compile(r"[,;:.!?…—、。，；：！？][\"'”’)\]]*\s*$")


@dataclass(frozen=True)
class Cue:
    """What is shown at a time."""

    start_s: float
    end_s: float
    lines: tuple[str, ...]


def cues_of(words: Sequence[DeliveredWord], text: str, duration_s: float, *, ssml: bool = False) -> list[Cue]:
    """Return the cues: none has parts of two segments. `text` is the user's, whose markup is left out."""
    cues: list[Cue] = []
    for _, group in itertools.groupby(words, lambda found: found.word.segment.index):
        cues += _cues_of_segment(list(group), text, ssml=ssml)
    nexts = [cue.start_s for cue in cues[1:]] + [duration_s]
    return [_held(cue, next_s) for cue, next_s in zip(cues, nexts, strict=True)]


def srt(cues: Sequence[Cue]) -> str:
    """Return a file of SubRip's."""
    parts = [
        f"{number}\n{_clock(cue.start_s, ',')} --> {_clock(cue.end_s, ',')}\n" + "\n".join(cue.lines) + "\n\n"
        for number, cue in enumerate(cues, 1)
    ]
    return "".join(parts)


def vtt(cues: Sequence[Cue]) -> str:
    """Return a file of WebVTT's, whose texts are escaped: they have tags otherwise."""
    parts = [
        f"{_clock(cue.start_s, '.')} --> {_clock(cue.end_s, '.')}\n"
        + "\n".join(html.escape(line, quote=False) for line in cue.lines)
        + "\n\n"
        for cue in cues
    ]
    return "WEBVTT\n\n" + "".join(parts)


def _cues_of_segment(words: list[DeliveredWord], text: str, *, ssml: bool) -> list[Cue]:
    segment = words[0].word.segment.text
    edges = [0, *(found.word.text_start for found in words[1:]), len(segment.text)]
    pieces = _shown(segment, edges, text)
    if ssml:
        pieces = [html.unescape(piece) for piece in pieces]
    cues: list[Cue] = []
    first, line = 0, ""
    for number, piece in enumerate(pieces):
        full = len(_lines(line + piece)) > MAX_LINES
        if line.strip() and (full or (len(line) >= LINE_CHARS and _ENDS_CLAUSE.search(line))):
            cues.append(Cue(words[first].start_s, words[number - 1].end_s, _lines(line)))
            first, line = number, ""
        line += piece
    return [*cues, Cue(words[first].start_s, words[-1].end_s, _lines(line))]


def _shown(segment: SegmentText, edges: list[int], text: str) -> list[str]:
    """Return what the user wrote for each part of a segment, without what no part of it speaks, as markup."""
    at = segment.source(0, 1)[0]
    pieces: list[str] = []
    for first, last in itertools.pairwise(edges):
        parts: list[str] = []
        for place in range(first, last):
            start, end = segment.source(place, place + 1)
            if end <= at:
                continue
            # Spaces that were between words stay between them.
            parts += [" "] if text[at:start].strip() != text[at:start] else []
            parts.append(text[max(at, start) : end])
            at = end
        pieces.append("".join(parts))
    return pieces


def _lines(text: str) -> tuple[str, ...]:
    return tuple(textwrap.wrap(" ".join(text.split()), LINE_CHARS, break_on_hyphens=False))


def _held(cue: Cue, next_s: float) -> Cue:
    end_s = max(cue.end_s, min(cue.start_s + SHORTEST_S, next_s))
    return Cue(cue.start_s, max(end_s, cue.start_s + 0.001), cue.lines)


def _clock(seconds: float, point: str) -> str:
    minutes, millis = divmod(round(1000 * seconds), 60_000)
    return f"{minutes // 60:02}:{minutes % 60:02}:{millis // 1000:02}{point}{millis % 1000:03}"
