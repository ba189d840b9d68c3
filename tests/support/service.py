"""A real service for end-to-end tests: `tts-service serve` as a child process on a free port, and how to talk to it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

from tts_service.errors import Unavailable
from tts_service.http_client import Answer, Connection

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0


def wait_until(condition: Callable[[], Any], timeout_s: float, what: str) -> Any:
    """Return the first true value of `condition`, asked every 20 ms; AssertionError after `timeout_s` seconds."""
    deadline = time.monotonic() + timeout_s
    while True:
        if value := condition():
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not happen within {timeout_s:g} s")
        time.sleep(0.02)


def strict_json(data: bytes) -> Any:
    """Return JSON; AssertionError where it has NaN or Infinity, which strict clients cannot read."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(data.decode("utf-8"), parse_constant=refuse)


def engine_options(**options: bool | int | float | str) -> dict[str, str]:
    """Return the environment that gives the only pool's engine these options."""
    table = ", ".join(f"{name} = {json.dumps(value)}" for name, value in options.items())
    return {"TTS_SERVICE_POOLS_DEFAULT_OPTIONS": "{" + table + "}"}


class Service:
    """A running service. `log` is the file with everything it has written."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path, runtime_dir: Path) -> None:
        self.process = process
        self.log = log
        self.runtime_dir = runtime_dir
        self.url = ""

    @property
    def pid(self) -> int:
        """Of the top process."""
        return self.process.pid

    def connect(self, timeout_s: float = 60.0) -> Connection:
        """Return a fresh connection; a context manager."""
        return Connection(self.url, timeout_s)

    def get(self, path: str) -> tuple[int, Any]:
        """Return status and JSON of a GET on a fresh connection."""
        with self.connect() as connection:
            answer = connection.get(path)
            return answer.status, answer.json()

    def speak(self, text: str, headers: dict[str, str] | None = None, **fields: Any) -> tuple[Answer, bytes]:
        """POST a speech request on a fresh connection; return its answer and the whole body."""
        with self.connect() as connection:
            answer = connection.post("/v1/audio/speech", {"input": text, **fields}, headers)
            return answer, answer.body()

    def post_raw(self, body: bytes, headers: dict[str, str] | None = None) -> tuple[int, Any, dict[str, str]]:
        """POST these bytes as a speech request; return status, body (JSON where it says so) and headers."""
        sent = {"Content-Type": "application/json"} if headers is None else headers
        return self.request("POST", "/v1/audio/speech", body, sent)

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any, dict[str, str]]:
        """Send any request on a fresh connection; return status, body (JSON where it says so) and headers."""
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=60.0)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            data = response.read()
            is_json = response.headers.get_content_type() == "application/json"
            return response.status, strict_json(data) if is_json else data, dict(response.headers)
        finally:
            connection.close()

    def pcm(self, text: str, **fields: Any) -> bytes:
        """Return the PCM of a request that must succeed."""
        answer, body = self.speak(text, response_format="pcm", **fields)
        assert answer.status == 200, body
        return body

    def workers(self) -> list[dict[str, Any]]:
        """Return the entries of GET /workers."""
        status, value = self.get("/workers")
        assert status == 200, value
        workers: list[dict[str, Any]] = value["workers"]
        return workers

    def is_ready(self) -> bool:
        """Return True when GET /ready says so."""
        try:
            with self.connect(timeout_s=5.0) as connection:
                return connection.get("/ready").status == 200
        except Unavailable:
            return False

    def wait_ready(self) -> None:
        """Wait for the first 200 of GET /ready."""
        wait_until(self.is_ready, START_TIMEOUT_S, "ready")

    def is_idle(self) -> bool:
        """Return True when no segment waits or is in progress."""
        _, value = self.get("/workers")
        return all(pool["queued"] == 0 and pool["running"] == 0 for pool in value["pools"])

    def wait_idle(self, timeout_s: float = 20.0) -> None:
        """Wait until no segment waits or is in progress."""
        wait_until(self.is_idle, timeout_s, "idle")

    def processes(self) -> list[psutil.Process]:
        """Return the top process and all below it."""
        top = psutil.Process(self.pid)
        return [top, *top.children(recursive=True)]

    def named(self, name: str) -> list[psutil.Process]:
        """Return the processes of this name: tts-gateway (gunicorn's parent first), tts-workers, tts-worker-0 ..."""
        return [process for process in self.processes() if process.name() == name]

    def text_of_log(self) -> str:
        """Return all that the service has written so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal to the top process and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(STOP_TIMEOUT_S)


@contextmanager
def running(
    *flags: str, env: dict[str, str] | None = None, wait: bool = True, prefix: tuple[str, ...] = ()
) -> Iterator[Service]:
    """Start `tts-service serve` with these flags, wait until it is ready, and end it afterwards, whatever happened.

    `env` adds to the environment; `prefix` goes before the command (taskset and the like).
    """
    # Socket paths are limited to 107 bytes, which pytest's own temporary directories come close to.
    with tempfile.TemporaryDirectory(prefix="tts-") as directory:
        log = Path(directory) / "log"
        runtime_dir = Path(directory) / "run"
        command = [
            *prefix,
            sys.executable,
            "-m",
            "tts_service",
            "serve",
            "--port",
            "0",
            "--runtime-dir",
            str(runtime_dir),
            *flags,
        ]
        with log.open("wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, env=dict(os.environ) | (env or {}))
        service = Service(process, log, runtime_dir)
        try:
            found = wait_until(
                lambda: re.search(r"listening on (http://\S+)", service.text_of_log()) or process.poll() is not None,
                START_TIMEOUT_S,
                "listening",
            )
            if isinstance(found, re.Match):
                service.url = found.group(1)
                if wait:
                    service.wait_ready()
            yield service
        finally:
            family = service.processes() if process.poll() is None else []
            if process.poll() is None:
                process.terminate()
            try:
                process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                for member in family:
                    member.kill()
                process.wait()
