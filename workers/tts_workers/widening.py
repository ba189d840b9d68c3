"""When a pool's wide worker speaks, and on how many threads: never more of them compute than there are CPUs. Pure.

The wide worker is on the CPUs of the others. It gets a lone job while the pool is idle; when other work comes, it goes
on with fewer threads, in the end with as many as one of the others has, and one of those stands aside meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence

from tts_service.protocol import Job
from tts_workers.link import WorkerLink


def lone_for_wide(waiting: Sequence[Job], workers: Sequence[WorkerLink], wide: WorkerLink) -> bool:
    """Return True where the jobs that wait are a single one, for the wide worker: it gains, and the pool is idle."""
    if len(waiting) != 1 or not waiting[0].lone or wide.ready is None:
        return False
    is_its_model = waiting[0].generation in ("", wide.ready.generation)
    return is_its_model and not wide.jobs and not any(worker.jobs for worker in workers)


def assignable(workers: list[WorkerLink], wide: WorkerLink | None, due_s: float) -> list[WorkerLink]:
    """Return the workers that may be given a job that is due then.

    While the wide worker has the CPUs of the last idle one, those are the ones whose present work the job would go
    before. Others wait for the wide worker's end: behind present work they would leave the idle one without any.
    """
    busy = [worker for worker in workers if worker.jobs]
    if wide is None or not wide.jobs or len(busy) < len(workers) - 1:
        return workers
    return [worker for worker in busy if due_s < min(running.job.deadline_s for running in worker.jobs.values())]


def width(workers: Sequence[WorkerLink], wide: WorkerLink) -> int:
    """Return the threads that the wide worker may compute on: what the busy ones leave, at least one worker's."""
    busy = sum(worker.n_threads for worker in workers if worker.jobs)
    return max(wide.n_threads - busy, min(worker.n_threads for worker in workers))
