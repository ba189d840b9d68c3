"""A simulated pool: the product's own queue and slots, a made-up engine, and a clock that jumps. No socket, no sleep.

A turn-taking engine makes AUDIO_PER_STEP_S seconds of audio in STEP_S; a segment of n characters sounds n × CHAR_S.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field

from support.pools import engine, job
from tts_service.protocol import Job, JobKey, Pace, Ready, Runtime
from tts_workers.jobqueue import JobQueue, Order, Waiting
from tts_workers.link import WorkerLink
from tts_workers.pool import Pool
from tts_workers.slots import SlotState, SlotTable

CHAR_S = 0.06
STEP_S = 0.05
AUDIO_PER_STEP_S = 0.5
TARGET_S = 1.0
# As a worker's warm-up tells it.
PACE = Pace(100, 100 * CHAR_S / AUDIO_PER_STEP_S * STEP_S, 100 * CHAR_S)


@dataclass
class Request:
    """A request of some segments, each of so many characters."""

    name: str
    arrived_s: float
    chars: list[int]
    streamed: bool = True
    client: str = "client"
    ahead: int = 4
    first_audio_s: float | None = None
    done_s: dict[int, float] = field(default_factory=dict)
    submitted: int = 0
    refused: bool = False

    @property
    def latency_s(self) -> float:
        """Time to first audio."""
        assert self.first_audio_s is not None, f"{self.name} was never served"
        return self.first_audio_s - self.arrived_s

    def underruns(self) -> int:
        """How many segments came after their listener had run dry."""
        assert self.first_audio_s is not None
        dry_s = self.first_audio_s
        count = 0
        for index, chars in enumerate(self.chars):
            # A segment's first step is enough to go on with.
            if self.done_s[index] - chars * CHAR_S / AUDIO_PER_STEP_S * STEP_S > dry_s + 1e-9:
                count += 1
                dry_s = self.done_s[index]
            dry_s += chars * CHAR_S
        return count


class Simulation:
    """Runs requests through a pool of workers."""

    def __init__(
        self, n_workers: int, n_slots: int = 3, order: Order = "deadline", max_wait_s: float = math.inf
    ) -> None:
        self.pool = Pool("default", "", 0, JobQueue(1_000_000, order))
        self.max_wait_s = max_wait_s
        self.tables = [SlotTable(n_slots) for _ in range(n_workers)]
        for index in range(n_workers):
            worker = WorkerLink(index, "default", n_slots, credits=n_slots)
            self.pool.workers.append(worker)
            self.pool.came_up(worker, Ready(engine(), "g", [index], 1, Runtime(1, False), PACE))
        self._events: list[tuple[float, int, Callable[[float], None]]] = []
        self._n_events = 0
        self._busy = [False] * n_workers
        self._requests: dict[str, Request] = {}

    def run(self, requests: list[Request]) -> None:
        """Serve all requests to their end."""
        for request in requests:
            self._requests[request.name] = request
            self._at(request.arrived_s, lambda now, request=request: self._admit(request, now))  # type: ignore[misc]
        while self._events:
            now, _, event = heapq.heappop(self._events)
            event(now)

    def _at(self, time_s: float, event: Callable[[float], None]) -> None:
        self._n_events += 1
        heapq.heappush(self._events, (time_s, self._n_events, event))

    def _admit(self, request: Request, now: float) -> None:
        """Take a request, or refuse it as the dispatcher does."""
        request.refused = self.pool.wait_s(self._job(request, 0), now) > self.max_wait_s
        if not request.refused:
            self._submit(request, now)

    def _submit(self, request: Request, now: float) -> None:
        """Submit as many segments as may be ahead of the reader."""
        while request.submitted < len(request.chars) and request.submitted - len(request.done_s) < request.ahead:
            self.pool.add(Waiting(self._job(request, request.submitted), b"gateway", now))
            request.submitted += 1
        self._assign(now)

    def _job(self, request: Request, index: int) -> Job:
        deadline_s = request.arrived_s + TARGET_S
        if not request.streamed:
            deadline_s += 3 * sum(request.chars) * CHAR_S / AUDIO_PER_STEP_S * STEP_S
        elif index:
            start_s = request.first_audio_s if request.first_audio_s is not None else deadline_s
            deadline_s = start_s + sum(request.chars[:index]) * CHAR_S
        return job(
            index,
            request_id=request.name,
            text="x" * request.chars[index],
            arrived_s=request.arrived_s,
            deadline_s=deadline_s,
            client=request.client,
        )

    def _assign(self, now: float) -> None:
        while (assignment := self.pool.next_assignment(now)) is not None:
            worker, waiting = assignment
            slot = self.tables[worker.index].add(waiting.job)
            slot.state = SlotState.RUNNING
            if not self._busy[worker.index]:
                self._step(worker, now)

    def _step(self, worker: WorkerLink, now: float) -> None:
        """Begin one step of the most urgent slot."""
        slots = self.tables[worker.index].to_step(all_of_them=False)
        self._busy[worker.index] = bool(slots)
        if slots:
            self._at(now + STEP_S, lambda then: self._stepped(worker, slots[0].job.key, then))  # type: ignore[union-attr]

    def _stepped(self, worker: WorkerLink, key: JobKey, now: float) -> None:
        slot = self.tables[worker.index].find(key)
        assert slot is not None
        assert slot.job is not None
        request = self._requests[key.request_id]
        slot.compute_s += AUDIO_PER_STEP_S
        worker.jobs[key].n_made = round(slot.compute_s * engine().sample_rate_hz)
        if key.segment == 0 and request.first_audio_s is None:
            request.first_audio_s = now
        if slot.compute_s >= len(slot.job.text) * CHAR_S:
            request.done_s[key.segment] = now
            self.tables[worker.index].free(slot)
            worker.jobs.pop(key)
            worker.credits += 1
            self.pool.estimate.learn(
                request.chars[key.segment], slot.compute_s / AUDIO_PER_STEP_S * STEP_S, slot.compute_s
            )
            self._submit(request, now)
            self._assign(now)
        self._step(worker, now)
