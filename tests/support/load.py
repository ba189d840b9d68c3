"""Many requests at once, each on its own connection and thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def at_once(work: Callable[[T], R], items: Sequence[T], n_threads: int = 0) -> list[R]:
    """Return `work(item)` for all items, in their order, with `n_threads` in progress (0: all of them).

    Raises what the first failing one raised, after all have ended.
    """
    with ThreadPoolExecutor(n_threads or max(1, len(items))) as threads:
        return list(threads.map(work, items))
