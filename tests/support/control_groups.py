"""A real control group (version 1 or 2) with CPU limits, for a command to run in; needs root and a writable mount."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
PERIOD_US = 100_000


@contextmanager
def limited(quota: float | None = None, cpus: str = "", tasks: int | None = None) -> Iterator[tuple[str, ...]]:
    """Make groups with these limits; yield the beginning of a command line that runs the rest of it inside them."""
    name = f"tts-test-{os.getpid()}"
    folders = [ROOT / name] if (ROOT / "cgroup.controllers").exists() else []
    if not folders:
        folders += [ROOT / "cpu" / name] if quota is not None else []
        folders += [ROOT / "cpuset" / name] if cpus else []
        folders += [ROOT / "pids" / name] if tasks is not None else []
    for folder in folders:
        folder.mkdir()
    try:
        _limit(folders, quota, cpus)
        for folder in folders:
            if tasks is not None and (folder / "pids.max").exists():
                (folder / "pids.max").write_text(str(tasks))
        joins = " && ".join(f"echo $$ > {folder}/cgroup.procs" for folder in folders)
        yield ("sh", "-c", f'{joins} && exec "$@"', "sh")
    finally:
        for folder in folders:
            folder.rmdir()


def _limit(folders: list[Path], quota: float | None, cpus: str) -> None:
    for folder in folders:
        if quota is not None and (folder / "cpu.max").exists():
            (folder / "cpu.max").write_text(f"{round(quota * PERIOD_US)} {PERIOD_US}")
        elif quota is not None and (folder / "cpu.cfs_quota_us").exists():
            (folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (folder / "cpu.cfs_quota_us").write_text(str(round(quota * PERIOD_US)))
        if cpus and (folder / "cpuset.cpus").exists():
            (folder / "cpuset.cpus").write_text(cpus)
            if (folder / "cpuset.mems").exists():
                (folder / "cpuset.mems").write_text("0")
