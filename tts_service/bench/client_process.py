"""`python -m tts_service.bench.client_process`: makes requests, so that their cost stays out of what is measured.

One thread for each request in progress. A process apart, because its CPU time is not the server's.
"""

from __future__ import annotations

import http.client
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from tts_service.bench.line_process import serve_lines
from tts_service.bench.texts import SENTENCES
from tts_service.errors import Unavailable
from tts_service.http_client import Connection

REQUEST_TIMEOUT_S = 300.0
SPEECH = "/v1/audio/speech"


class Load(msgspec.Struct, frozen=True):
    """One round of requests."""

    url: str
    texts: list[int]
    """Index in SENTENCES of the text of each request, in order."""
    fields: dict[str, Any]
    """Of every request, besides its text."""
    concurrency: int
    kept: bool
    """Whether a thread keeps its connection, or makes a fresh one for each request."""


class Timing(msgspec.Struct, frozen=True):
    """One request as its client saw it, in seconds."""

    total_s: float
    first_audio_s: float
    """To the first byte of the body."""
    problem: str = ""
    """Why it failed; "" where it did not."""


class LoadReport(msgspec.Struct, frozen=True):
    """What came of a round."""

    started_s: float
    """Monotonic time, which all processes of a machine share."""
    ended_s: float
    cpu_s: float
    timings: list[Timing]


def make(load: Load) -> LoadReport:
    """Make all requests of a round."""
    waiting = deque(load.texts)
    timings: list[Timing] = []
    started_s, cpu_s = time.monotonic(), time.process_time()
    with ThreadPoolExecutor(load.concurrency) as threads:
        clients = [threads.submit(_client, load, waiting, timings) for _ in range(load.concurrency)]
    for client in clients:
        client.result()
    return LoadReport(started_s, time.monotonic(), time.process_time() - cpu_s, timings)


def _client(load: Load, waiting: deque[int], timings: list[Timing]) -> None:
    """Make requests until none is left; both collections are shared by all threads."""
    connection: Connection | None = None
    while True:
        try:
            text = SENTENCES[waiting.popleft()]
        except IndexError:
            break
        started_s = time.monotonic()
        connection = connection or Connection(load.url, REQUEST_TIMEOUT_S)
        timing = _request(connection, {"input": text, **load.fields}, started_s)
        timings.append(timing)
        if timing.problem or not load.kept:
            connection.close()
            connection = None
    if connection is not None:
        connection.close()


def _request(connection: Connection, body: dict[str, Any], started_s: float) -> Timing:
    first_s = 0.0
    n_bytes = 0
    try:
        answer = connection.post(SPEECH, body)
        if answer.status != 200:
            return Timing(time.monotonic() - started_s, 0.0, f"status {answer.status}: {_start(answer.body())}")
        for chunk in answer.chunks():
            first_s = first_s or time.monotonic()
            n_bytes += len(chunk)
    except (http.client.HTTPException, OSError, Unavailable) as error:
        return Timing(time.monotonic() - started_s, 0.0, f"{type(error).__name__}: {error}")
    if not n_bytes:
        return Timing(time.monotonic() - started_s, 0.0, "an empty body")
    return Timing(time.monotonic() - started_s, first_s - started_s)


def _start(body: bytes) -> str:
    return body[:200].decode(errors="replace")


if __name__ == "__main__":
    serve_lines(Load, lambda: make)
