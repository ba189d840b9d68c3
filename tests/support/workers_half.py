"""A real workers' half for tests: `tts-service workers` as a child process in a short temporary directory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from support.service import STOP_TIMEOUT_S

QUICK_LIMITS = {
    "TTS_SERVICE_WORKERS_HEARTBEAT_S": "0.3",
    "TTS_SERVICE_WORKERS_STEP_TIMEOUT_S": "1",
    "TTS_SERVICE_WORKERS_PREPARE_TIMEOUT_S": "1",
    "TTS_SERVICE_WORKERS_GATEWAY_TIMEOUT_S": "2",
}
"""Time limits as short as a busy machine allows."""


class Half:
    """A running half. `log` is the file with everything it has written."""

    def __init__(self, process: subprocess.Popen[bytes], runtime_dir: Path, log: Path) -> None:
        self.process = process
        self.runtime_dir = runtime_dir
        self.log = log

    def text_of_log(self) -> str:
        """Return all that it has written so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def workers(self) -> list[psutil.Process]:
        """Return its synthesis processes that live now."""
        return psutil.Process(self.process.pid).children()

    def wait(self) -> int:
        """Return its exit code, once it has ended."""
        return self.process.wait(STOP_TIMEOUT_S)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        return self.wait()


@contextmanager
def running_half(*flags: str, env: dict[str, str] | None = None, runtime_dir: Path | None = None) -> Iterator[Half]:
    """Start `tts-service workers` with these flags, and end it afterwards, whatever happened.

    It is not waited for: a FakeGateway on `runtime_dir` hears when it is warm.
    """
    # Socket paths are limited to 107 bytes, which pytest's own temporary directories come close to.
    with tempfile.TemporaryDirectory(prefix="tts-") as directory:
        log = Path(directory) / "log"
        place = runtime_dir or Path(directory) / "run"
        command = [sys.executable, "-m", "tts_service", "workers", "--runtime-dir", str(place), *flags]
        with log.open("wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, env=dict(os.environ) | (env or {}))
        half = Half(process, place, log)
        try:
            yield half
        finally:
            if process.poll() is None:
                process.terminate()
            try:
                process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                # Its children die with it.
                process.kill()
                process.wait()
