"""CPU time, memory and threads of a whole server on this machine, of any kind, from /proc."""

from __future__ import annotations

import msgspec

from tts_service import procfs
from tts_service.bench.family import descendants


class Usage(msgspec.Struct, frozen=True):
    """Of all processes together."""

    cpu_s: float
    """User and system time."""
    pss_bytes: int
    """Proportional set size: pages that several processes share count once. 0 where it may not be read."""
    n_threads: int
    n_processes: int

    def since(self, before: Usage) -> Usage:
        """Return this with the CPU time that was used after `before` was read."""
        return msgspec.structs.replace(self, cpu_s=self.cpu_s - before.cpu_s)

    @property
    def pss_mib(self) -> float:
        """Memory in MiB."""
        return self.pss_bytes / (1 << 20)


class ServerTree:
    """The processes below some roots; found again at each reading, since servers start new ones."""

    def __init__(self, roots: list[int]) -> None:
        self.roots = roots

    def cpu_s(self) -> float:
        """Return the CPU time so far, that of children that have ended included."""
        return sum(map(procfs.tree_cpu_seconds, self.pids()))

    def read(self) -> Usage:
        """Return everything. Reading the memory costs milliseconds for each process: not for use under load."""
        pids = self.pids()
        return Usage(
            cpu_s=sum(map(procfs.tree_cpu_seconds, pids)),
            pss_bytes=sum(map(procfs.pss_bytes, pids)),
            n_threads=sum(map(procfs.live_threads, pids)),
            n_processes=len(pids),
        )

    def pids(self) -> list[int]:
        """Return the processes that there are now."""
        # A root may be below another one.
        return sorted({pid for root in self.roots for pid in (root, *descendants(root))})
