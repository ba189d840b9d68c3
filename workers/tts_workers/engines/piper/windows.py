"""Which frames are decoded together. Pure: a plan depends on the number of frames and the mode, on nothing else.

Promise 2 rests on that: bits depend, if only in the last places, on the shapes that the network runs on.
"""

from __future__ import annotations

# Chosen by measurement; docs/piper.md has the numbers.
FIRST_FRAMES = 32
SECOND_FRAMES = 256
TILE_FRAMES = 64

Span = tuple[int, int]
"""First frame, and the one after the last."""


def blocks(n_frames: int, longest: int, *, streamed: bool) -> list[Span]:
    """Return the spans that the body runs on, each of `longest` frames at most.

    Streams begin with a small one, for an early first sound, and a middling one that is done before that is over.
    """
    starts = [FIRST_FRAMES, SECOND_FRAMES] if streamed else []
    spans, done = list[Span](), 0
    for size in starts:
        # No small rest: it would cost as much in margins as it gives.
        if n_frames - done >= 1.5 * size:
            spans.append((done, done + size))
            done += size
    return spans + _equal(done, n_frames, longest)


def tiles(span: Span) -> list[Span]:
    """Return the spans that the tail runs on, small enough for a CPU's own cache."""
    first, last = span
    return [(start, min(start + TILE_FRAMES, last)) for start in range(first, last, TILE_FRAMES)]


def _equal(first: int, last: int, longest: int) -> list[Span]:
    n = -(-(last - first) // longest)
    edges = [first + (last - first) * i // n for i in range(n + 1)] if n else []
    return list(zip(edges, edges[1:], strict=False))
