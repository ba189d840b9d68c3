"""Runs `tts-service bench` as a process of its own, as its users do."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import psutil

TIMEOUT_S = 100.0


MARK = "TTS_BENCH_TEST"
"""Environment variable by which the processes of one command are found."""


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    exit_code: int
    output: str
    errors: str
    json: bytes


def command(*arguments: str) -> list[str]:
    """Return the command line of `tts-service bench` with these arguments."""
    return [sys.executable, "-m", "tts_service", "bench", *arguments]


def bench(directory: Path, *arguments: str, mark: str = "", timeout_s: float = TIMEOUT_S) -> Outcome:
    """Run the command with --json, whose file goes into `directory`."""
    path = directory / "result.json"
    done = subprocess.run(
        command(*arguments, "--json", str(path)),
        env=dict(os.environ) | {MARK: mark},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr, path.read_bytes() if path.exists() else b"")


def processes_of(mark: str) -> list[str]:
    """Return the names of the living processes that a command started with this mark has left."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.name())
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found
