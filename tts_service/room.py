"""Whether a half may open as many files and start as many threads as it is going to; asked by itself at its start.

What lacks later shows up as requests that fail at random, or as a library that ends the process.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tts_service.errors import CannotStart
from tts_service.settings import GatewaySettings

# Of a gateway process, its connections not counted: libraries, sockets, the ZeroMQ context (31 measured), and a margin.
GATEWAY_DESCRIPTORS = 128
# Connections of one gateway process, kept-alive ones included.
MAX_CONNECTIONS = 4096
# Of the workers' half without workers (20 measured with one gateway), and for each worker: pidfd, connection, margin.
HALF_DESCRIPTORS = 48
WORKER_DESCRIPTORS = 4
# ZeroMQ's two threads, the main one, and the one that owns the socket.
GATEWAY_TASKS = 4
HALF_TASKS = 3
WORKER_TASKS = 2


@dataclass(frozen=True)
class Needs:
    """What a half needs."""

    descriptors: int
    """Open files of its largest process, at least."""
    tasks: int
    """Processes and threads, all together."""
    hint: str
    """What makes it need less."""
    wanted_descriptors: int = 0
    """Open files that it can use; the limit is raised so far where it may be."""

    def __add__(self, other: Needs) -> Needs:
        descriptors = max(self.descriptors, other.descriptors)
        return Needs(descriptors, self.tasks + other.tasks, f"{self.hint}, {other.hint}", self.wanted_descriptors)


def gateway_needs(settings: GatewaySettings) -> Needs:
    """Return what the gateway needs."""
    tasks = 1 + settings.processes * (settings.threads + GATEWAY_TASKS)
    wanted = MAX_CONNECTIONS + GATEWAY_DESCRIPTORS
    hint = f"gateway.threads = {settings.threads}"
    return Needs(settings.threads + GATEWAY_DESCRIPTORS, tasks, hint, wanted)


def workers_needs(n_threads: Sequence[int]) -> Needs:
    """Return what a workers' half needs whose workers have these thread budgets."""
    tasks = HALF_TASKS + sum(n + WORKER_TASKS for n in n_threads)
    return Needs(HALF_DESCRIPTORS + WORKER_DESCRIPTORS * len(n_threads), tasks, f"{len(n_threads)} workers")


def check_room(needs: Needs, root: Path = Path("/")) -> None:
    """Raise CannotStart where the limits are too low. The soft limit of open files is raised as far as is of use."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        hard = 1 << 20
    wanted = min(max(needs.descriptors, needs.wanted_descriptors), hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    if soft != resource.RLIM_INFINITY and soft < needs.descriptors:
        raise CannotStart(
            f"this process may have {soft} open files (ulimit -n), it needs {needs.descriptors} with {needs.hint}"
        )
    room = tasks_left(root)
    if room is not None and room < needs.tasks:
        raise CannotStart(
            f"this control group may start {room} more processes and threads (pids.max), {needs.tasks} are needed "
            f"with {needs.hint}"
        )


def tasks_left(root: Path = Path("/")) -> int | None:
    """Return how many more tasks the control groups above this process allow; None for no limit.

    Source: Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/pids.rst of Linux.
    """
    left = []
    for folder in _groups(root):
        limit, used = _read(folder / "pids.max"), _read(folder / "pids.current")
        if limit.isdigit() and used.isdigit():
            left.append(int(limit) - int(used))
    return min(left, default=None)


def _groups(root: Path) -> Iterator[Path]:
    """Yield the folders of this process's control group and those above it, as far as they can be seen."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "pids" not in controllers.split(","):
            continue
        mount = root / "sys/fs/cgroup" / ("pids" if controllers else "")
        # Inside a container the path may be the machine's; the folder is then the mount itself.
        for level in (PurePosixPath(path), *PurePosixPath(path).parents):
            folder = mount / str(level).lstrip("/")
            if folder.is_dir():
                yield folder


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
