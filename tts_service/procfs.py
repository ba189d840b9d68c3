"""Readings from /proc about one process. Every function answers for a process that is just ending, too (zeros)."""

from __future__ import annotations

import os
from pathlib import Path

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_NS_PER_S = 1_000_000_000


def live_threads(pid: int) -> int:
    """Return the number of threads of `pid` now, 0 when it is gone."""
    return len(_task_ids(pid))


def voluntary_switches(pid: int) -> int:
    """Return the voluntary context switches of all live threads of `pid` since they started."""
    return sum(_status_field(task, "voluntary_ctxt_switches") for task in _tasks(pid))


def rss_bytes(pid: int) -> int:
    """Return the resident set size of `pid` in bytes."""
    fields = _read(Path(f"/proc/{pid}/statm")).split()
    return int(fields[1]) * PAGE_BYTES if len(fields) > 1 else 0


def pss_bytes(pid: int) -> int:
    """Return the proportional set size of `pid` in bytes: shared pages count by the number of their users."""
    return 1024 * _field(_read(Path(f"/proc/{pid}/smaps_rollup")), "Pss")


def own_bytes(pid: int) -> int:
    """Return the memory of `pid` that is no file's, by the number of its users: other programs' use changes nothing."""
    return 1024 * _field(_read(Path(f"/proc/{pid}/smaps_rollup")), "Pss_Anon")


def cpu_seconds(pid: int) -> float:
    """Return user plus system time of all threads of `pid`, living and ended, in seconds."""
    after_name = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK") if len(after_name) > 12 else 0.0


def tree_cpu_seconds(pid: int) -> float:
    """Return what `cpu_seconds` does, and that of all its children that have ended and been waited for.

    The sum over a process and all below it never falls: what a child has used is its parent's when it is gone.
    """
    after_name = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return sum(map(int, after_name[11:15])) / os.sysconf("SC_CLK_TCK") if len(after_name) > 14 else 0.0


def waited_for_cpu_s(pid: int) -> float:
    """Return how long the main thread of `pid` has been runnable without a CPU since it started, in seconds.

    Second field of /proc/PID/schedstat (Documentation/scheduler/sched-stats.rst); 0 where the kernel does not tell.
    """
    fields = _read(Path(f"/proc/{pid}/schedstat")).split()
    return int(fields[1]) / _NS_PER_S if len(fields) > 1 else 0.0


def affinities(pid: int) -> dict[int, frozenset[int]]:
    """Return the CPUs that each living thread of `pid` may run on, by thread id."""
    found = {}
    for task in _task_ids(pid):
        try:
            found[int(task)] = frozenset(os.sched_getaffinity(int(task)))
        except OSError:
            continue
    return found


def children(pid: int) -> list[int]:
    """Return the pids of the living children of `pid`."""
    return [int(child) for task in _tasks(pid) for child in _read(task / "children").split()]


def _task_ids(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def _tasks(pid: int) -> list[Path]:
    return [Path(f"/proc/{pid}/task/{task}") for task in _task_ids(pid)]


def _status_field(directory: Path, name: str) -> int:
    return _field(_read(directory / "status"), name)


def _field(text: str, name: str) -> int:
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return int(value.split()[0])
    return 0


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
