"""A `tts-service serve` of one's own: on a free port, in a private runtime directory, ended with its user."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tts_service.errors import CannotStart, Unavailable
from tts_service.http_client import Connection
from tts_service.interrupts import ended_like_interrupted

# Longer than a worker may take to load and warm up by default.
READY_TIMEOUT_S = 200.0
STOP_TIMEOUT_S = 90.0
LOOK_S = 0.05
# Every look at the workers reads all their memory maps: on a busy machine, more looks than that keep it busy.
LOOK_AT_WORKERS_S = 0.5

# `serve` is a top process and has no flag for this: a bench that is killed must not leave a server behind.
_START = """
import sys, signal
from tts_service.orphans import die_with_parent
die_with_parent(int(sys.argv[1]), signal.SIGTERM)
from tts_service.cli.main import main
from tts_service.interrupts import ended_like_interrupted
main(sys.argv[2:])
"""


@contextmanager
def own_server(flags: list[str], environment: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Give URL and pid of a server that is ready. CannotStart with the server's own words where it ends before that.

    `environment` adds to this process's. Call from the main thread: the server ends when the thread that started it
    ends.
    """
    # Short, because socket paths are: see runtime_dir.py.
    with ended_like_interrupted(), tempfile.TemporaryDirectory(prefix="tts-bench-") as directory:
        log = Path(directory) / "log"
        arguments = ["serve", "--host=127.0.0.1", "--port=0", f"--runtime-dir={directory}/run", *flags]
        command = [sys.executable, "-c", _START, str(os.getpid()), *arguments]
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env={**os.environ, **environment}
            )
        try:
            yield _wait_ready(process, log), process.pid
        finally:
            _stop(process)


def _wait_ready(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline, pause_s = time.monotonic() + READY_TIMEOUT_S, LOOK_S
    while time.monotonic() < deadline:
        try:
            process.wait(pause_s)
        except subprocess.TimeoutExpired:
            url = _url(log)
            if url and _is_ready(url):
                if _is_up(url):
                    return url
                pause_s = LOOK_AT_WORKERS_S
        else:
            raise CannotStart(f"the server to be measured did not start: {_last_line(log)}")
    raise Unavailable(f"the server to be measured was not ready after {READY_TIMEOUT_S:.0f} s: {_last_line(log)}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _is_ready(url: str) -> bool:
    try:
        with Connection(url, timeout_s=5.0) as connection:
            return connection.get("/ready").status == 200
    except Unavailable:
        return False


def _is_up(url: str) -> bool:
    try:
        with Connection(url, timeout_s=5.0) as connection:
            answer = connection.get("/workers")
            return answer.status == 200 and are_up(answer.json()["workers"])
    except Unavailable:
        return False


def are_up(workers: list[dict[str, Any]]) -> bool:
    """Return True where nothing is starting any more: /ready does not wait for wide workers, but measurements do."""
    # One that has ended may never come back: there was no room for it.
    return all(worker["state"] == "ready" or worker["last_exit"] for worker in workers if worker["wide"])


def _url(log: Path) -> str:
    found = re.search(r"listening on (http://\S+)", log.read_text(errors="replace"))
    return found.group(1) if found else ""


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("tts-service: error: ") if lines else "it said nothing"
