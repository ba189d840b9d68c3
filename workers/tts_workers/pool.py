"""One pool as the dispatcher sees it: its queue, its workers' credits, and who runs what. Pure; time is passed in."""

from __future__ import annotations

from dataclasses import dataclass, field

from tts_service.protocol import EngineInfo, Job, JobKey, PoolInfo, PoolStatus, Ready, WorkerStats
from tts_workers.jobqueue import JobQueue, Waiting

# Weight of the newest segment in the running mean of segment times.
_MEAN_WEIGHT = 0.1


@dataclass
class Running:
    """A job in a worker's slot."""

    job: Job
    gateway: bytes
    queue_s: float


@dataclass
class WorkerLink:
    """The dispatcher's view of one synthesis process, through all its lives."""

    index: int
    pool: str
    n_slots: int
    ready: Ready | None = None
    """What the present life said when it was warm; None before."""
    was_ready: bool = False
    """True once any life has been warm."""
    credits: int = 0
    """Slots known to be free."""
    jobs: dict[JobKey, Running] = field(default_factory=dict)
    stats: WorkerStats = field(default_factory=WorkerStats)
    """Counters of the present life."""
    past: WorkerStats = field(default_factory=WorkerStats)
    """Counters of the earlier lives together."""
    retiring: bool = False
    """True while the process finishes what it has, to be replaced."""

    @property
    def n_free(self) -> int:
        """Slots that may be given a job."""
        return 0 if self.retiring else self.credits


@dataclass
class Pool:
    """A queue, the workers that empty it, and what they are running."""

    name: str
    default_voice: str
    default_seed: int
    """-1: random."""
    queue: JobQueue
    workers: list[WorkerLink] = field(default_factory=list)
    engine: EngineInfo | None = None
    """Of the latest worker that came up."""
    generation: str = ""
    segment_s: float = 0.5
    """Running mean of the engine time of a segment."""

    def came_up(self, worker: WorkerLink, ready: Ready) -> None:
        """Note that a worker is warm; what it loaded is the pool's engine from now on."""
        worker.ready, worker.was_ready = ready, True
        self.engine, self.generation = ready.engine, ready.generation

    def went_down(self, worker: WorkerLink) -> list[Running]:
        """Note the end of a worker's process; return the jobs it had."""
        lost = list(worker.jobs.values())
        worker.past = add_stats(worker.past, worker.stats)
        worker.ready, worker.credits, worker.stats, worker.retiring = None, 0, WorkerStats(), False
        worker.jobs.clear()
        return lost

    def next_assignment(self, now: float) -> tuple[WorkerLink, Waiting] | None:
        """Take the first waiting job for the worker with the most free slots; None when either is missing."""
        worker = max(self.workers, key=lambda candidate: candidate.n_free, default=None)
        if worker is None or worker.n_free == 0:
            return None
        waiting = self.queue.take()
        if waiting is None:
            return None
        worker.credits -= 1
        worker.jobs[waiting.job.key] = Running(waiting.job, waiting.gateway, now - waiting.since_s)
        return worker, waiting

    def find(self, key: JobKey, gateway: bytes) -> WorkerLink | None:
        """Return the worker that has the job that this gateway knows by this key, if any."""
        found = ((worker, worker.jobs.get(key)) for worker in self.workers)
        return next((worker for worker, running in found if running is not None and running.gateway == gateway), None)

    def finished_segment(self, compute_s: float) -> None:
        """Feed the running mean that Retry-After is estimated from."""
        self.segment_s += _MEAN_WEIGHT * (compute_s - self.segment_s)

    @property
    def retry_after_s(self) -> float:
        """Estimated time until the queue that stands now is worked off, at least 1 s."""
        n_ready = max(1, sum(worker.ready is not None for worker in self.workers))
        return max(1.0, len(self.queue) * self.segment_s / n_ready)

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
        )

    def status(self, now: float) -> PoolStatus:
        """Return the pool for GET /workers."""
        return PoolStatus(
            name=self.name,
            queued=len(self.queue),
            queue_limit=self.queue.limit,
            running=sum(len(worker.jobs) for worker in self.workers),
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
