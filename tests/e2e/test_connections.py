"""Connections that say nothing or little, and bodies that are too long: what a gateway alone can take."""

from __future__ import annotations

import http.client
import json
import statistics
import time
from urllib.parse import urlsplit

import pytest

from support.load import at_once
from support.raw_http import SPEECH, RawClient
from support.service import Service

pytestmark = pytest.mark.system

N_THREADS = 64
"""gateway.threads, by default."""
TOO_LONG = b'{"input": "' + b"a" * (5 << 20) + b'"}'


def times_s(service: Service, n: int = 20) -> list[float]:
    """Return how long each of `n` requests takes, on fresh connections."""
    found = []
    for _ in range(n):
        start = time.monotonic()
        assert service.pcm("Hello there.")
        found.append(time.monotonic() - start)
    return found


def test_http_07_silent_connections_hold_no_request_thread(tone: Service) -> None:
    alone_s = statistics.median(times_s(tone))
    gateway = tone.named("tts-gateway")[-1]
    n_threads = gateway.num_threads()
    silent = [RawClient(tone) for _ in range(3 * N_THREADS)]
    try:
        # A request that has to wait for a thread of a silent connection waits for seconds, not for milliseconds.
        assert max(times_s(tone)) < 100 * alone_s
        assert gateway.num_threads() - n_threads <= 2
        for client in silent[::10]:
            client.speech("Late, but welcome.", response_format="pcm")
            assert client.answer().status == 200
    finally:
        for client in silent:
            client.socket.close()


def test_http_07_half_sent_requests_below_the_number_of_threads_hold_up_nobody(tone: Service) -> None:
    alone_s = statistics.median(times_s(tone))
    slow = [RawClient(tone) for _ in range(N_THREADS - 8)]
    try:
        for client in slow:
            client.socket.sendall(SPEECH.encode() + b"\r\nHost: x\r\nX-Slow: ")
        for _ in range(3):
            for client in slow:
                client.socket.sendall(b"a")
            assert max(times_s(tone, 5)) < 100 * alone_s
        assert tone.get("/health")[0] == 200
        assert tone.named("tts-gateway")[-1].num_threads() <= N_THREADS + 8
    finally:
        for client in slow:
            client.socket.close()


def post_too_long(service: Service, *, keep_alive: bool) -> tuple[int, str]:
    """Send a body far over the limit, as http.client does: all of it, and only then is the answer read."""
    parts = urlsplit(service.url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=60.0)
    headers = {"Content-Type": "application/json"} | ({} if keep_alive else {"Connection": "close"})
    try:
        connection.request("POST", "/v1/audio/speech", TOO_LONG, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())["error"]["code"]
    finally:
        connection.close()


@pytest.mark.parametrize("keep_alive", [True, False])
def test_dep_08_a_body_over_the_limit_always_gets_its_413(tone: Service, keep_alive: bool) -> None:
    answers = at_once(lambda _: post_too_long(tone, keep_alive=keep_alive), range(50), n_threads=4)
    assert answers == [(413, "body_too_large")] * 50


def test_dep_08_a_connection_goes_on_after_a_body_over_the_limit(tone: Service) -> None:
    parts = urlsplit(tone.url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=60.0)
    headers = {"Content-Type": "application/json"}
    for _ in range(3):
        connection.request("POST", "/v1/audio/speech", TOO_LONG, headers)
        answer = connection.getresponse()
        assert (answer.status, len(answer.read()) > 0) == (413, True)
        connection.request("GET", "/health")
        assert connection.getresponse().read()
    connection.close()
