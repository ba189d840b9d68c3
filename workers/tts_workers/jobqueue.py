"""The waiting jobs of one pool: a heap by the time at which each is due. Pure; time is passed in.

One number orders the queue: the job's deadline, but not before its client's fair share has come round again. Two
plainer orders exist to be compared with.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import msgspec

from tts_service.protocol import Job, JobKey
from tts_workers.fairness import ClientShares

# Entries of jobs that have left may stay in the heap, up to as many as there are jobs and these.
SPARE_ENTRIES = 64

Order = Literal["deadline", "segments", "requests"]


@dataclass
class Waiting:
    """A job in the queue."""

    job: Job
    gateway: bytes
    """ZeroMQ identity of the gateway that wants it."""
    since_s: float
    """Monotonic time at which it came."""
    due_s: float = 0.0
    """Where it stands: the smaller, the sooner."""
    fair_s: float = 0.0
    """Monotonic time before which it is not due, since its client has had its share until then."""


class JobQueue:
    """Jobs by due time; of equal ones the earlier text first, then the one that came first."""

    def __init__(self, limit: int, order: Order = "deadline") -> None:
        self.limit = limit
        self.order = order
        self.shares = ClientShares()
        self._waiting: dict[JobKey, Waiting] = {}
        # (due, segment, order of arrival, job); entries of jobs that left or moved are skipped when they come up.
        self._heap: list[tuple[float, int, int, Waiting]] = []
        self._n_pushed = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Waiting]:
        return iter(self._waiting.values())

    @property
    def is_full(self) -> bool:
        """True when a new request has to be refused."""
        return len(self._waiting) >= self.limit

    def oldest_s(self, now: float) -> float:
        """Return how long the job that came first has waited, 0 where there is none."""
        first = next(iter(self._waiting.values()), None)
        return now - first.since_s if first is not None else 0.0

    def add(self, waiting: Waiting, spacing_s: float = 0.0) -> None:
        """Put a job in its place. `spacing_s` is the time between two jobs of a client that keeps to its share."""
        waiting.fair_s = self.shares.charge(waiting.job.client, waiting.since_s, spacing_s)
        self._waiting[waiting.job.key] = waiting
        self._push(waiting)

    def prospect_s(self, job: Job, now: float) -> float:
        """Return when a job would be due that came now."""
        return self._due_s(Waiting(job, b"", now, fair_s=self.shares.start_s(job.client, now)))

    def first(self) -> Waiting | None:
        """Return the job that is due first."""
        while self._heap:
            if self._is_current(self._heap[0]):
                return self._heap[0][3]
            heapq.heappop(self._heap)
        return None

    def take(self) -> Waiting | None:
        """Remove and return the job that is due first."""
        waiting = self.first()
        return self._waiting.pop(waiting.job.key) if waiting is not None else None

    def rekey(self, key: JobKey, gateway: bytes, deadline_s: float) -> None:
        """Give a waiting job of this gateway another deadline."""
        waiting = self._waiting.get(key)
        if waiting is not None and waiting.gateway == gateway:
            waiting.job = msgspec.structs.replace(waiting.job, deadline_s=deadline_s)
            self._push(waiting)

    def remove(self, key: JobKey, gateway: bytes) -> Waiting | None:
        """Remove and return the job that this gateway knows by this key, if it waits here."""
        waiting = self._waiting.get(key)
        return self._waiting.pop(key) if waiting is not None and waiting.gateway == gateway else None

    def remove_of(self, gateway: bytes) -> list[Waiting]:
        """Remove and return all jobs of a gateway."""
        found = [waiting for waiting in self._waiting.values() if waiting.gateway == gateway]
        for waiting in found:
            del self._waiting[waiting.job.key]
        return found

    def remove_all(self) -> Iterator[Waiting]:
        """Remove and yield every job."""
        while (waiting := self.take()) is not None:
            yield waiting

    def _due_s(self, waiting: Waiting) -> float:
        return {
            "deadline": max(waiting.job.deadline_s, waiting.fair_s),
            "segments": waiting.since_s,
            "requests": waiting.job.arrived_s,
        }[self.order]

    def _push(self, waiting: Waiting) -> None:
        waiting.due_s = self._due_s(waiting)
        self._n_pushed += 1
        heapq.heappush(self._heap, (waiting.due_s, waiting.job.key.segment, self._n_pushed, waiting))
        if len(self._heap) > 2 * len(self._waiting) + SPARE_ENTRIES:
            self._heap = [entry for entry in self._heap if self._is_current(entry)]
            heapq.heapify(self._heap)

    def _is_current(self, entry: tuple[float, int, int, Waiting]) -> bool:
        """Return False for the entry of a job that has left, or has another place now."""
        due_s, _, _, waiting = entry
        return self._waiting.get(waiting.job.key) is waiting and waiting.due_s == due_s
