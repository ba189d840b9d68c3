"""Memory, threads and descriptors of all processes of a server that this command has started, from /proc."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tts_service import procfs


class Member(msgspec.Struct, frozen=True):
    """One process at one time."""

    name: str
    """Unique in its family: the second of a name has #2."""
    pid: int
    rss_bytes: int
    n_threads: int
    n_descriptors: int

    @property
    def rss_mib(self) -> float:
        """Resident set size."""
        return self.rss_bytes / (1 << 20)


def read_family(pid: int) -> list[Member]:
    """Return the process and all below it, parents before their children; [] for pid 0."""
    names: Counter[str] = Counter()
    found = []
    # Not by pid: they begin anew at 300 once the kernel has used them up.
    for member in [pid, *descendants(pid)] if pid else []:
        name = _name(member)
        names[name] += 1
        unique = name if names[name] == 1 else f"{name} #{names[name]}"
        n_threads, n_descriptors = procfs.live_threads(member), _n_descriptors(member)
        found.append(Member(unique, member, procfs.rss_bytes(member), n_threads, n_descriptors))
    return found


def descendants(pid: int) -> list[int]:
    """Return the pids of all living processes below `pid`."""
    children = procfs.children(pid)
    return children + [below for child in children for below in descendants(child)]


def pairs(before: Sequence[Member], after: Sequence[Member]) -> list[tuple[Member, Member]]:
    """Return the processes that are in both readings, each before and after."""
    late = {member.pid: member for member in after}
    return [(member, late[member.pid]) for member in before if member.pid in late]


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "gone"


def _n_descriptors(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0
