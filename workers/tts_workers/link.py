"""A synthesis process as the dispatcher sees it: its credits, and what it runs. Used by dispatcher and pool alone."""

from __future__ import annotations

from dataclasses import dataclass, field

from tts_service.protocol import Job, JobKey, Ready, WorkerStats


@dataclass
class Running:
    """A job in a worker's slot."""

    job: Job
    gateway: bytes
    queue_s: float
    n_made: int = 0
    """Samples of the segment that have come, those of earlier attempts included."""


@dataclass
class WorkerLink:
    """The dispatcher's view of one synthesis process, through all its lives."""

    index: int
    pool: str
    n_slots: int
    n_threads: int = 1
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
    clearing: bool = False
    """True while it finishes what it has, to take a suspect alone."""
    alone: bool = False
    """True while it runs a suspect, and nothing beside it."""
    width: int = 0
    """Of a wide worker: threads that it has been told to compute on; 0 for all, before it is told."""

    @property
    def n_free(self) -> int:
        """Slots that may be given a job."""
        return 0 if self.retiring or self.clearing or self.alone else self.credits
