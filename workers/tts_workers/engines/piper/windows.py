"""Which frames are decoded together. Pure: a plan depends on the number of frames and the mode, on nothing else.

Promise 2 rests on that: bits depend, if only in the last places, on the shapes that the network runs on.
"""

from __future__ import annotations

from itertools import pairwise

# Chosen by measurement; docs/piper.md has the numbers.
FIRST_FRAMES = 64
# A shorter stream gains less from an early first block than its margins cost.
SHORTEST_IN_BLOCKS = 256
TILE_FRAMES = 64

Span = tuple[int, int]
"""First frame, and the one after the last."""


def blocks(n_frames: int, longest: int, *, streamed: bool) -> list[Span]:
    """Return the spans that the body runs on, each of `longest` frames at most; a stream's first one is small."""
    first = FIRST_FRAMES if streamed and n_frames >= SHORTEST_IN_BLOCKS else 0
    n_rest = -(-(n_frames - first) // longest)
    edges = [first + (n_frames - first) * i // n_rest for i in range(n_rest + 1)] if n_rest else []
    return ([(0, first)] if first else []) + list(pairwise(edges))


def tiles(span: Span) -> list[Span]:
    """Return the spans that the tail runs on, small enough for a CPU's own cache."""
    first, last = span
    return [(start, min(start + TILE_FRAMES, last)) for start in range(first, last, TILE_FRAMES)]
