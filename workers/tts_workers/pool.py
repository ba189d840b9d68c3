"""One pool as the dispatcher sees it: its queue, its workers' credits, and who runs what. Pure; time is passed in."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from tts_service.protocol import EngineInfo, Job, JobKey, PoolInfo, PoolStatus, Ready, WorkerStats
from tts_workers.estimate import Estimate
from tts_workers.jobqueue import JobQueue, Waiting
from tts_workers.link import Running, WorkerLink
from tts_workers.wait import expected_wait_s
from tts_workers.widening import assignable, lone_for_wide


@dataclass
class Pool:
    """A queue, the workers that empty it, and what they are running."""

    name: str
    default_voice: str
    default_seed: int
    """-1: random."""
    queue: JobQueue
    urgent_s: float = 2.0
    """Jobs due within this time may take a worker's last free slot."""
    max_wait_s: float = 30.0
    """A new request whose expected wait is longer is refused."""
    workers: list[WorkerLink] = field(default_factory=list)
    """All but the wide one."""
    wide: WorkerLink | None = None
    """On all CPUs of the pool, for lone jobs while nothing else is going on; see widening.py."""
    suspects: deque[Waiting] = field(default_factory=deque)
    """Jobs that were running when a worker died; each is tried again alone."""
    estimate: Estimate = field(default_factory=Estimate)
    engine: EngineInfo | None = None
    """Of the latest worker that came up."""
    generation: str = ""

    def came_up(self, worker: WorkerLink, ready: Ready) -> None:
        """Note that a worker is warm; what it loaded is the pool's engine from now on."""
        worker.ready, worker.was_ready = ready, True
        self.engine, self.generation = ready.engine, ready.generation
        if worker is not self.wide:
            self.estimate.learn(ready.pace.n_chars, ready.pace.work_s, ready.pace.audio_s)

    def finished(self, worker: WorkerLink, n_chars: int, work_s: float, audio_s: float) -> None:
        """Learn from a segment that has been finished."""
        # Estimates are of ordinary workers: what a wide one needs says nothing of them.
        self.estimate.learn(n_chars, self.estimate.work_s(n_chars) if worker is self.wide else work_s, audio_s)

    @property
    def all_workers(self) -> list[WorkerLink]:
        """The wide one included."""
        return self.workers if self.wide is None else [*self.workers, self.wide]

    def went_down(self, worker: WorkerLink) -> list[Running]:
        """Note the end of a worker's process; return the jobs it had."""
        lost = list(worker.jobs.values())
        worker.past = add_stats(worker.past, worker.stats)
        worker.ready, worker.credits, worker.stats = None, 0, WorkerStats()
        worker.retiring = worker.clearing = worker.alone = False
        worker.width = 0
        worker.jobs.clear()
        return lost

    def add(self, waiting: Waiting) -> None:
        """Take a job into the queue; a suspect waits for a worker of its own."""
        if waiting.job.alone:
            self.suspects.append(waiting)
            return
        # Only who wants to be served by then competes: a book that has hours is in nobody's way.
        due_s = waiting.job.deadline_s
        clients = {other.job.client for other in self.queue if other.due_s <= due_s} | {waiting.job.client}
        work_s = self.estimate.work_s(len(waiting.job.text))
        self.queue.add(waiting, spacing_s=work_s * len(clients) / self.n_ready)

    def next_assignment(self, now: float) -> tuple[WorkerLink, Waiting] | None:
        """Take the next job and the worker for it; None when either is missing."""
        pair = self._lone_for_wide() or self._suspect_for_idle() or self._first_for_free(now)
        if pair is None:
            return None
        worker, waiting = pair
        worker.credits -= 1
        worker.jobs[waiting.job.key] = Running(waiting.job, waiting.gateway, now - waiting.since_s)
        return pair

    def _lone_for_wide(self) -> tuple[WorkerLink, Waiting] | None:
        """Take the only job of the pool for its wide worker, where that gains from it."""
        waiting = [*self.suspects, *self.queue] if self.wide is not None and self.wide.n_free else []
        if self.wide is None or not lone_for_wide([other.job for other in waiting], self.workers, self.wide):
            return None
        self.remove(waiting[0].job.key, waiting[0].gateway)
        return self.wide, waiting[0]

    def _first_for_free(self, now: float) -> tuple[WorkerLink, Waiting] | None:
        """Take the job that is due first for the worker that comes to it first, of equals that with most free slots.

        One slot of each worker is kept for urgent jobs: a newcomer then never waits for a whole segment that is not.
        """
        waiting = self.queue.first()
        if waiting is None:
            return None
        free = assignable(self.workers, self.wide, waiting.due_s)
        keeps_one = self.queue.order == "deadline" and waiting.due_s > now + self.urgent_s
        able = [
            worker
            for worker in self._able(waiting.job)
            if worker in free and worker.n_free > (keeps_one and worker.n_slots > 1)
        ]
        if not able:
            return None
        # A segment stays in its slot. By free slots alone a worker with few long texts would get the next one.
        worker = min(able, key=lambda candidate: (self._left_s(candidate, waiting.due_s), -candidate.n_free))
        self.queue.take()
        # The worker's turns go by the same time as the queue did.
        waiting.job = msgspec.structs.replace(waiting.job, deadline_s=waiting.due_s)
        return worker, waiting

    def _suspect_for_idle(self) -> tuple[WorkerLink, Waiting] | None:
        """Take the first suspect for a worker that has nothing else; clear one for it where all are busy."""
        if not self.suspects:
            for worker in self.workers:
                worker.clearing = False
            return None
        able = self._able(self.suspects[0].job)
        usable = [worker for worker in able if worker.ready and not worker.retiring and not worker.alone]
        idle = next((worker for worker in usable if not worker.jobs and worker.credits), None)
        if idle is not None:
            idle.clearing, idle.alone = False, True
            return idle, self.suspects.popleft()
        if usable and not any(worker.clearing for worker in usable):
            min(usable, key=lambda worker: len(worker.jobs)).clearing = True
        return None

    def _able(self, job: Job) -> list[WorkerLink]:
        """Return the workers with the model that the job began with; all, who refuse it, where none has it any more."""
        same = [worker for worker in self.workers if worker.ready and worker.ready.generation == job.generation]
        return same or self.workers

    def has_jobs_of(self, generation: str) -> bool:
        """Return True while a job of this model waits or runs."""
        running = (found.job for worker in self.all_workers for found in worker.jobs.values())
        waiting = (found.job for found in (*self.queue, *self.suspects))
        return any(job.generation == generation for job in (*running, *waiting))

    def remove(self, key: JobKey, gateway: bytes) -> Waiting | None:
        """Remove and return the job that this gateway knows by this key, if it waits."""
        for waiting in self.suspects:
            if waiting.job.key == key and waiting.gateway == gateway:
                self.suspects.remove(waiting)
                return waiting
        return self.queue.remove(key, gateway)

    def remove_of(self, gateway: bytes) -> None:
        """Remove all waiting jobs of a gateway."""
        self.queue.remove_of(gateway)
        self.suspects = deque(waiting for waiting in self.suspects if waiting.gateway != gateway)

    def remove_all(self) -> Iterator[Waiting]:
        """Remove and yield every waiting job."""
        while self.suspects:
            yield self.suspects.popleft()
        yield from self.queue.remove_all()

    def find(self, key: JobKey, gateway: bytes) -> WorkerLink | None:
        """Return the worker that has the job that this gateway knows by this key, if any."""
        found = ((worker, worker.jobs.get(key)) for worker in self.all_workers)
        return next((worker for worker, running in found if running is not None and running.gateway == gateway), None)

    @property
    def is_warm(self) -> bool:
        """True once every worker has been ready; the wide one only comes then."""
        return all(worker.was_ready for worker in self.workers)

    @property
    def n_ready(self) -> int:
        """Warm workers; 1 where there is none, for estimates."""
        return max(1, sum(worker.ready is not None for worker in self.workers))

    def wait_s(self, job: Job, now: float) -> float:
        """Return the estimated wait of a job that came now for a worker's turn, behind all that would be due before it.

        What its audio's encoding takes is work, too: gateways share the machine's CPUs with the workers.
        """
        due_s = self.queue.prospect_s(job, now)
        sooner = sorted((waiting.due_s, self._work_s(waiting.job)) for waiting in self.queue if waiting.due_s <= due_s)
        queued_s = [*(self._work_s(waiting.job) for waiting in self.suspects), *(work_s for _, work_s in sooner)]
        warm = [worker for worker in self.workers if worker.ready is not None]
        # A wide worker has the CPUs of all others.
        shared_s = self._left_s(self.wide, due_s) / self.n_ready if self.wide is not None else 0.0
        return expected_wait_s((shared_s + self._left_s(worker, due_s) for worker in warm), queued_s)

    def _left_s(self, worker: WorkerLink, due_s: float) -> float:
        """Return the work in a worker's slots that comes before a job that is due then."""
        batched = self.engine is not None and self.engine.stepping == "batched"
        return sum(
            self._work_s(running.job) * self._part_left(running)
            for running in worker.jobs.values()
            # What is due later steps aside, but where all slots step together.
            if batched or running.job.deadline_s <= due_s
        )

    def _work_s(self, job: Job) -> float:
        return self.estimate.work_s(len(job.text)) + job.encoding_s

    def _part_left(self, running: Running) -> float:
        """Return about how much of a text in a slot is still to be spoken: all of it where its turn has not come."""
        rate_hz = self.engine.sample_rate_hz if self.engine else 1
        expected = len(running.job.text) * self.estimate.audio_s_per_char * rate_hz
        return max(0.0, 1 - running.n_made / max(1.0, expected))

    def info(self) -> PoolInfo | None:
        """Return the pool for the gateways' catalogue; None before its engine is known."""
        if self.engine is None:
            return None
        return PoolInfo(
            name=self.name,
            engine=self.engine,
            generation=self.generation,
            default_voice=self.default_voice or self.engine.default_voice,
            default_seed=self.default_seed,
            n_workers=len(self.workers),
            n_ready=sum(worker.ready is not None for worker in self.workers),
            n_slots=sum(worker.n_slots for worker in self.workers),
            # Rounded, so that not every segment makes a new catalogue.
            work_s_per_char=_rounded(self.estimate.work_s_per_char),
            audio_s_per_char=_rounded(self.estimate.audio_s_per_char),
        )

    def status(self, now: float) -> PoolStatus:
        """Return the pool for GET /workers."""
        return PoolStatus(
            name=self.name,
            queued=len(self.queue) + len(self.suspects),
            queue_limit=self.queue.limit,
            running=sum(len(worker.jobs) for worker in self.all_workers),
            oldest_s=round(self.queue.oldest_s(now), 3),
        )


def add_stats(past: WorkerStats, present: WorkerStats) -> WorkerStats:
    """Return the counters of earlier lives and the present one together."""
    return WorkerStats(
        slots_active=present.slots_active,
        segments_done=past.segments_done + present.segments_done,
        steps=past.steps + present.steps,
        audio_seconds=past.audio_seconds + present.audio_seconds,
        busy_seconds=past.busy_seconds + present.busy_seconds,
        cpu_seconds=past.cpu_seconds + present.cpu_seconds,
        effective_cores=present.effective_cores,
        step_seconds=past.step_seconds + present.step_seconds,
        step_counts=[old + new for old, new in zip(past.step_counts, present.step_counts, strict=True)],
    )


def _rounded(value: float) -> float:
    """Return the value to one significant digit."""
    return float(f"{value:.0e}")
