"""What GET /workers and the metrics show of a worker: its supervisor's, its dispatcher's and the kernel's figures."""

from __future__ import annotations

from collections.abc import Callable

from tts_service import procfs
from tts_service.protocol import WorkerStatus
from tts_workers.child import Child
from tts_workers.link import WorkerLink
from tts_workers.pool import add_stats

# The kernel walks a process's pages for it: 3 to 5 ms for a model's, and the dispatcher's loop stands still meanwhile.
PSS_MAX_AGE_S = 2.0


class PssGauge:
    """Reads the proportional set sizes of processes, each no more often than every PSS_MAX_AGE_S."""

    def __init__(self, read: Callable[[int], int] = procfs.pss_bytes) -> None:
        self._read = read
        self._read_at: dict[int, tuple[float, int]] = {}

    def bytes_of(self, pid: int, now: float) -> int:
        """Return the size of `pid` at `now`, or shortly before; 0 for no process."""
        if not pid:
            return 0
        read_at_s, size = self._read_at.get(pid, (-PSS_MAX_AGE_S, 0))
        if now - read_at_s >= PSS_MAX_AGE_S:
            self._read_at = {other: read for other, read in self._read_at.items() if now - read[0] < PSS_MAX_AGE_S}
            size = self._read(pid)
            self._read_at[pid] = now, size
        return size


def worker_status(child: Child, link: WorkerLink, pss_bytes: int, *, stopping: bool) -> WorkerStatus:
    """Return one worker as it is now. Counters go on through all lives of its index."""
    stats = add_stats(link.past, link.stats)
    pid = child.pid
    return WorkerStatus(
        index=child.spec.index,
        pool=child.spec.pool,
        pid=pid,
        state="stopping" if pid and (stopping or link.retiring) else child.state,
        phase=child.phase,
        engine=child.spec.engine,
        cpus=link.ready.cpus if link.ready else child.spec.cpus,
        threads=child.spec.n_threads,
        live_threads=procfs.live_threads(pid) if pid else 0,
        slots={"total": child.spec.n_slots, "active": len(link.jobs)},
        effective_cores=round(link.stats.effective_cores, 3),
        rss_bytes=procfs.rss_bytes(pid) if pid else 0,
        voluntary_switches=procfs.voluntary_switches(pid) if pid else 0,
        restarts=child.restarts,
        last_exit=child.last_exit,
        segments_done=stats.segments_done,
        audio_seconds=round(stats.audio_seconds, 6),
        busy_seconds=round(stats.busy_seconds, 6),
        cpu_seconds=round(stats.cpu_seconds, 6),
        pss_bytes=pss_bytes,
        faults=child.faults,
        exits=dict(child.exits),
        steps=stats.steps,
        step_seconds=round(stats.step_seconds, 6),
        step_counts=stats.step_counts,
        wide=child.spec.wide,
    )
