"""How the gateway process gets its large blocks of memory. Called once, before any thread is started."""

from __future__ import annotations

import ctypes

# From malloc.h.
M_MMAP_THRESHOLD = -3
M_ARENA_MAX = -8
LARGE_BYTES = 1 << 20
# Heaps for small blocks; glibc would make one for each thread. Ten thousand bad bodies then left 26 MB behind, and less
# than 24 with one heap. Only one request thread runs Python at a time.
N_ARENAS = 1


def return_large_blocks() -> None:
    """Let every block above LARGE_BYTES be a mapping of its own, which goes back to the system when it is freed.

    glibc otherwise raises its limit to the largest block that was ever freed, and each thread's heap then keeps such
    blocks: four threads that code FLAC, whose state takes 6 MB, were left with 60 MB (measured).
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
        mallopt(M_ARENA_MAX, N_ARENAS)
