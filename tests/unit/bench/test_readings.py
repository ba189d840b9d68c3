"""Reading GET /workers of servers that are busy, odd, or no servers of speech at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.json_server import serving
from tts_service.bench.readings import dispatcher_pid, read_idle
from tts_service.errors import Unavailable

WORKER = {
    "index": 0,
    "pid": 7,
    "live_threads": 3,
    "voluntary_switches": 12,
    "busy_seconds": 1,
    "cpu_seconds": 0.5,
    "audio_seconds": 2.5,
    "state": "ready",
}
IDLE_POOL = {"name": "default", "queued": 0, "queue_limit": 256, "running": 0}


def answer(**parts: Any) -> bytes:
    return json.dumps({"workers": [WORKER], **parts}).encode()


def test_the_counters_of_an_idle_server_are_read() -> None:
    with serving([(200, answer(pools=[IDLE_POOL], dispatcher={"pid": 99}))]) as server:
        (worker,) = read_idle(server.url).workers
        assert (worker.pid, worker.live_threads, worker.voluntary_switches) == (7, 3, 12)
        assert (worker.busy_seconds, worker.cpu_seconds, worker.audio_seconds) == (1.0, 0.5, 2.5)
        assert dispatcher_pid(server.url) == 99


def test_a_server_that_tells_of_no_pools_is_read_at_once() -> None:
    with serving([(200, answer())]) as server:
        assert read_idle(server.url).worker(0) is not None
        assert server.n_requests == 1
        assert dispatcher_pid(server.url) == 0


@pytest.mark.parametrize(
    "busy",
    [
        {"pools": [IDLE_POOL | {"queued": 1}]},
        {"pools": [IDLE_POOL | {"running": 1}]},
        {"workers": [WORKER | {"slots": {"total": 1, "active": 1}}]},
    ],
    ids=["queued", "running", "in a slot"],
)
def test_counters_are_read_when_nothing_is_in_progress_any_more(busy: dict[str, Any]) -> None:
    answers = [(200, answer(**busy)), (200, answer(**busy)), (200, answer(workers=[WORKER | {"pid": 8}]))]
    with serving(answers) as server:
        (worker,) = read_idle(server.url).workers
        assert worker.pid == 8
        assert server.n_requests == 3


def test_a_server_that_never_becomes_idle_is_unavailable() -> None:
    busy = (200, answer(pools=[IDLE_POOL | {"running": 2}]))
    with serving([busy]) as server, pytest.raises(Unavailable, match="still has segments in progress"):
        read_idle(server.url, timeout_s=0.1)


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (404, b"{}", "status 404"),
        (503, b'{"error": {}}', "status 503"),
        (200, b"<html>", "cannot be measured"),
        (200, b"{}", "workers"),
        (200, json.dumps({"workers": [{"index": 0, "pid": 1}]}).encode(), "live_threads"),
    ],
)
def test_an_answer_that_is_no_reading_is_named(status: int, body: bytes, words: str) -> None:
    with serving([(status, body)]) as server, pytest.raises(Unavailable, match=words):
        read_idle(server.url)
