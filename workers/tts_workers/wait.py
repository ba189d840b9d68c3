"""How long a newcomer waits for a worker's turn: earlier work is dealt out as it will be. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Iterable


def expected_wait_s(loads_s: Iterable[float], queued_s: Iterable[float]) -> float:
    """Return when the first worker comes to a job that is behind all of these.

    `loads_s` has for each worker what is left of the jobs in its slots: these stay where they are, and make workers
    unequal. `queued_s` has the work of the jobs in the queue, in its order: each goes to the worker that is free first.
    """
    ends_s = list(loads_s) or [0.0]
    heapq.heapify(ends_s)
    for work_s in queued_s:
        heapq.heapreplace(ends_s, ends_s[0] + work_s)
    return ends_s[0]
