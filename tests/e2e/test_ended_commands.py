"""Commands that start processes of their own leave nothing behind when they are ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from support.service import wait_until

pytestmark = pytest.mark.system

COMMANDS = {
    "say": ["say", "A sentence. " * 2000, "-o", "out.wav", "--engine", "tone"],
    "render": ["render", "phrases.txt", "--out", ".", "--engine", "tone"],
    "bench": ["bench", "lone", "--engine", "tone"],
}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("name", COMMANDS)
def test_an_ended_command_takes_its_processes_and_files_along(name: str, number: int, tmp_path: Path) -> None:
    scratch, work = tmp_path / "t", tmp_path / "w"
    scratch.mkdir()
    work.mkdir()
    (work / "phrases.txt").write_text("".join(f"Phrase {n} of many.\n" for n in range(5000)))
    process = psutil.Popen(
        [sys.executable, "-m", "tts_service", *COMMANDS[name]],
        cwd=work,
        env=os.environ | {"TMPDIR": str(scratch)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: any(scratch.glob("tts-*/run/*.sock")), 30.0, "its own processes")
        below = process.children(recursive=True)
        process.send_signal(number)
        assert process.wait(30.0) == 1
        assert list(scratch.iterdir()) == []
        psutil.wait_procs(below, 10.0)
        assert [child for child in below if child.is_running() and child.status() != psutil.STATUS_ZOMBIE] == []
    finally:
        if process.is_running():
            process.kill()
