"""Measures how many cores a process really gets while it computes. Used by the one compute thread only."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import deque
from types import TracebackType

from tts_service.protocol import STEP_BUCKETS_S

RECENT_BUSY_S = 5.0


class BusyMeter:
    """A context manager around engine work: wall time, CPU time of all threads, and their ratio.

    `effective_cores` is CPU time over wall time of the last RECENT_BUSY_S seconds of work, idle time left out: a worker
    with n threads that all compute shows n; one whose threads sleep in barriers or wait for a CPU shows less.
    """

    def __init__(self) -> None:
        self.busy_s = 0.0
        self.cpu_s = 0.0
        self._recent: deque[tuple[float, float]] = deque()
        self._recent_wall_s = 0.0
        self._recent_cpu_s = 0.0
        self._start = (0.0, 0.0)

    def __enter__(self) -> None:
        self._start = (time.monotonic(), time.process_time())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.add(time.monotonic() - self._start[0], time.process_time() - self._start[1])

    def add(self, wall_s: float, cpu_s: float) -> None:
        """Count one piece of work."""
        self.busy_s += wall_s
        self.cpu_s += cpu_s
        self._recent.append((wall_s, cpu_s))
        self._recent_wall_s += wall_s
        self._recent_cpu_s += cpu_s
        while self._recent_wall_s > RECENT_BUSY_S and len(self._recent) > 1:
            old_wall_s, old_cpu_s = self._recent.popleft()
            self._recent_wall_s -= old_wall_s
            self._recent_cpu_s -= old_cpu_s

    @property
    def effective_cores(self) -> float:
        """Cores obtained over the recent busy time; 0 before any work."""
        return self._recent_cpu_s / self._recent_wall_s if self._recent_wall_s > 0 else 0.0


class StepCounts:
    """A histogram of step times."""

    def __init__(self) -> None:
        self.n = 0
        self.seconds = 0.0
        self.counts = [0] * (len(STEP_BUCKETS_S) + 1)

    def add(self, step_s: float) -> None:
        """Count one step of `step_s` seconds."""
        self.n += 1
        self.seconds += step_s
        self.counts[bisect_left(STEP_BUCKETS_S, step_s)] += 1
