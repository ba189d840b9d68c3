"""The waiting jobs of one pool: bounded, first come, first served. Pure; time is passed in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tts_service.protocol import Job, JobKey


@dataclass(frozen=True)
class Waiting:
    """A job in the queue."""

    job: Job
    gateway: bytes
    """ZeroMQ identity of the gateway that wants it."""
    since_s: float
    """Monotonic time at which it came."""


class JobQueue:
    """Jobs in the order in which they came."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._waiting: dict[JobKey, Waiting] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def is_full(self) -> bool:
        """True when a new request has to be refused."""
        return len(self._waiting) >= self.limit

    def oldest_s(self, now: float) -> float:
        """Return how long the first job has waited, 0 where there is none."""
        first = next(iter(self._waiting.values()), None)
        return now - first.since_s if first is not None else 0.0

    def add(self, waiting: Waiting) -> None:
        """Put a job at the end."""
        self._waiting[waiting.job.key] = waiting

    def take(self) -> Waiting | None:
        """Remove and return the first job."""
        key = next(iter(self._waiting), None)
        return self._waiting.pop(key) if key is not None else None

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
