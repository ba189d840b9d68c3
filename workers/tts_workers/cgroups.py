"""Reads the CPU limits of this process's control group, of both versions, nested ones included.

Sources: Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/cpusets.rst and scheduler/sched-bwc.rst of Linux.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tts_workers.machine import read_cpu_list


@dataclass(frozen=True)
class CpuLimits:
    """What the control groups above this process allow."""

    quota: float | None
    """CPUs' worth of time: the smallest of all levels; None for no limit."""
    cpus: frozenset[int] | None
    """The cpuset; None for no limit."""


@dataclass(frozen=True)
class _Mount:
    """A mounted control group file system."""

    root: str
    point: Path
    is_v2: bool
    controllers: frozenset[str]


def read_limits(root: Path) -> CpuLimits:
    """Return the limits below `root`, none where the files cannot be read."""
    quotas: list[float] = []
    cpus: frozenset[int] | None = None
    mounts = _mounts(root)
    for controllers, path in _memberships(root):
        for mount in mounts:
            if mount.is_v2 != (not controllers) or not (mount.is_v2 or controllers & mount.controllers):
                continue
            for folder in _levels(mount, path):
                quotas += _quota(folder)
                cpus = cpus if cpus is not None else _cpuset(folder)
    return CpuLimits(min(quotas, default=None), cpus)


def _memberships(root: Path) -> Iterator[tuple[frozenset[str], str]]:
    """Yield (controllers, path) for each line of /proc/self/cgroup; version 2 has no controllers there."""
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        yield frozenset(filter(None, controllers.split(","))), path


def _mounts(root: Path) -> list[_Mount]:
    """Return the control group mounts of /proc/self/mountinfo (proc(5))."""
    found = []
    for line in _lines(root / "proc/self/mountinfo"):
        before, _, after = line.partition(" - ")
        fields, (kind, _, options) = before.split(), after.split(" ", 2)
        if kind in ("cgroup", "cgroup2"):
            point = root / fields[4].lstrip("/")
            found.append(_Mount(fields[3], point, kind == "cgroup2", frozenset(options.split(","))))
    return found


def _levels(mount: _Mount, path: str) -> Iterator[Path]:
    """Yield the group's folder and those above it, as far as the mount shows them."""
    try:
        below = PurePosixPath(path).relative_to(mount.root)
    except ValueError:
        # In a control group namespace the path can point outside of what is mounted.
        below = PurePosixPath()
    if ".." in below.parts:
        below = PurePosixPath()
    folder = mount.point / below
    yield folder
    for _ in below.parts:
        folder = folder.parent
        yield folder


def _quota(folder: Path) -> list[float]:
    if (limit := _first(folder / "cpu.max")) and not limit.startswith("max"):
        quota_us, period_us = limit.split()
        return [int(quota_us) / int(period_us)]
    quota_text, period_text = _first(folder / "cpu.cfs_quota_us"), _first(folder / "cpu.cfs_period_us")
    if quota_text and period_text and int(quota_text) > 0:
        return [int(quota_text) / int(period_text)]
    return []


def _cpuset(folder: Path) -> frozenset[int] | None:
    for name in ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"):
        if text := _first(folder / name):
            return frozenset(read_cpu_list(text))
    return None


def _first(path: Path) -> str:
    return next(iter(_lines(path)), "")


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
