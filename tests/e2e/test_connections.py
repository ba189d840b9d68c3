"""Connections that say nothing or little, and bodies that are too long: what a gateway alone can take."""

from __future__ import annotations

import http.client
import json
import statistics
import time
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import pytest

from support.load import at_once
from support.raw_http import SPEECH, RawClient
from support.service import Service, running, wait_until

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


LIMITS = {
    "TTS_SERVICE_GATEWAY_HEADER_TIMEOUT_S": "3",
    "TTS_SERVICE_GATEWAY_BODY_TIMEOUT_S": "3",
    "TTS_SERVICE_GATEWAY_THREADS": "8",
    "TTS_SERVICE_GATEWAY_MAX_REQUESTS": "4",
}


@pytest.fixture(scope="module")
def strict() -> Iterator[Service]:
    """A gateway with 8 request threads, whose patience with clients that send nothing ends after 3 s."""
    with running("--engine", "tone", "--workers", "1", env=LIMITS) as service:
        yield service


def is_closed(client: RawClient) -> bool:
    """Return True when the server has closed a connection, whatever it said before."""
    client.socket.setblocking(False)
    try:
        while client.socket.recv(4096):
            pass
    except BlockingIOError:
        return False
    except ConnectionResetError:
        pass
    return True


HALF_SENT = {
    "head": SPEECH + "\r\nHost: x\r\nX-Slow: ",
    "body": SPEECH + "\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n{",
    "chunks": SPEECH + "\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\n{",
    "continue": SPEECH + "\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9999\r\n\r\n{",
}


@pytest.mark.parametrize("part", HALF_SENT)
def test_http_07_a_hundred_silent_and_dripping_connections_hold_up_nobody(strict: Service, part: str) -> None:
    alone_s = statistics.median(times_s(strict, 10))
    gateway = strict.named("tts-gateway")[-1]
    n_threads = gateway.num_threads()
    silent = [RawClient(strict) for _ in range(50)]
    dripping = [RawClient(strict) for _ in range(50)]
    try:
        for client in dripping:
            client.socket.sendall(HALF_SENT[part].encode())
        for _ in range(4):
            for client in dripping:
                # On a slow machine it may have been cut off already.
                with suppress(ConnectionError):
                    client.socket.sendall(b" ")
            # One that had to wait for the thread of another would wait for seconds, not for milliseconds.
            assert max(times_s(strict, 5)) < 100 * alone_s
            assert strict.get("/health")[0] == 200
        assert gateway.num_threads() - n_threads <= 2
        wait_until(lambda: all(map(is_closed, silent + dripping)), 20.0, "closing all of them")
    finally:
        for client in silent + dripping:
            client.socket.close()
    assert strict.pcm("Next.")


def test_http_07_a_client_is_told_that_it_was_too_slow(strict: Service) -> None:
    clients = [RawClient(strict) for _ in HALF_SENT]
    try:
        for client, sent in zip(clients, HALF_SENT.values(), strict=True):
            client.socket.sendall(sent.encode())
        for client in clients:
            answer = client.answer()
            assert (answer.status, json.loads(answer.read())["error"]["code"]) == (408, "request_timeout")
    finally:
        for client in clients:
            client.socket.close()


def test_http_07_a_slow_client_below_the_limits_is_served(strict: Service) -> None:
    body = b'{"input": "Slowly.", "response_format": "pcm"}'
    with RawClient(strict) as client:
        raw = f"{SPEECH}\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        for at in range(len(raw)):
            client.socket.sendall(raw[at : at + 1])
        assert client.answer().read() == strict.pcm("Slowly.")


def test_http_07_a_body_that_is_too_long_and_drips_holds_its_thread_for_a_limited_time(strict: Service) -> None:
    slow = [RawClient(strict) for _ in range(4)]
    try:
        for client in slow:
            client.head(SPEECH, "Content-Type: application/json", "Content-Length: 9999999")
            client.socket.sendall(b"{")
        for client in slow:
            assert client.answer().status in (413, 503)
    finally:
        for client in slow:
            client.socket.close()
    assert strict.pcm("Next.")


def test_http_07_a_client_that_does_not_close_its_connection_holds_up_nobody(strict: Service) -> None:
    alone_s = statistics.median(times_s(strict, 10))
    lazy = [RawClient(strict) for _ in range(20)]
    try:
        for client in lazy:
            client.head("GET /health HTTP/1.1", "Connection: close")
        # Each of them would take two seconds of everybody's time.
        assert max(times_s(strict, 10)) < 100 * alone_s
        wait_until(lambda: all(map(is_closed, lazy)), 10.0, "closing all of them")
    finally:
        for client in lazy:
            client.socket.close()


def test_http_07_requests_behind_each_other_in_one_piece_are_all_answered(strict: Service) -> None:
    with RawClient(strict) as client:
        one = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
        client.socket.sendall(one * 3 + one[:10])
        received = b""
        while received.count(b'"version"') < 3:
            received += client.socket.recv(4096)
        client.socket.sendall(one[10:])
        while received.count(b'"version"') < 4:
            received += client.socket.recv(4096)
        assert received.count(b"HTTP/1.1 200 OK") == 4


def test_http_07_the_gateway_stops_although_clients_say_nothing() -> None:
    with running("--engine", "tone", "--workers", "1") as service:
        silent = [RawClient(service) for _ in range(10)]
        start = time.monotonic()
        assert service.stop() == 0
        # The limit for a request's head is 10 s, and the one for what is in progress 60 s.
        assert time.monotonic() - start < 9.0
        for client in silent:
            client.socket.close()


def test_http_07_connections_without_a_request_make_room_for_those_with_one() -> None:
    # With so few files a process has room for 72 connections.
    few = ("prlimit", "--nofile=200:200")
    with running(
        "--engine", "tone", "--workers", "1", env={"TTS_SERVICE_GATEWAY_THREADS": "49"}, prefix=few
    ) as service:
        gateway = service.named("tts-gateway")[-1]
        silent = [RawClient(service) for _ in range(300)]
        try:
            for n in range(5):
                assert service.pcm("Hello there.")
                assert service.get("/health")[0] == 200
                silent += [RawClient(service) for _ in range(20 + n)]
            assert service.named("tts-gateway")[-1].pid == gateway.pid
            assert "Traceback" not in service.text_of_log()
        finally:
            for client in silent:
                client.socket.close()


NOT_HTTP = {
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03": (400, "bad_http"),
    b"GET / HTTP/1.0\n\n": (400, "bad_http"),
    b"nonsense\r\n\r\n": (400, "bad_http"),
    b"GET / HTTP/9.9\r\n\r\n": (400, "bad_http"),
    b"GET / HTTP/1.1\r\nno colon\r\n\r\n": (400, "bad_http"),
    b"GET / HTTP/1.1\r\nContent-Length: -5\r\n\r\n": (400, "bad_http"),
    b"GET / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n": (400, "bad_http"),
    b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n\r\n": (414, "bad_http"),
    b"GET / HTTP/1.1\r\nX: " + b"a" * 9000 + b"\r\n\r\n": (431, "bad_http"),
    b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 500 + b"\r\n": (431, "bad_http"),
    b"GET / HTTP/1.1\r\nX: " + b"a" * 99_000: (431, "bad_http"),
    b"POST / HTTP/1.1\r\nTransfer-Encoding: nonsense\r\n\r\n": (501, "bad_http"),
    b"POST / HTTP/1.1\r\nExpect: something\r\n\r\n": (417, "bad_http"),
    (SPEECH + "\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n").encode(): (400, "bad_http"),
    (SPEECH + "\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n").encode(): (400, "bad_http"),
}


@pytest.mark.parametrize("raw", NOT_HTTP, ids=range(len(NOT_HTTP)))
def test_val_12_what_is_no_valid_http_is_refused_in_json(tone: Service, raw: bytes) -> None:
    with RawClient(tone) as client:
        client.socket.sendall(raw)
        answer = client.answer()
        error = json.loads(answer.read())["error"]
        assert (answer.status, error["code"]) == NOT_HTTP[raw]
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers["X-Request-Id"]
        assert len(error["message"]) < 400
    assert tone.get("/health")[0] == 200


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


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("POST", "/nowhere", 404), ("PUT", "/v1/audio/speech", 405), ("POST", "/health", 405)],
)
def test_dep_08_a_refusal_for_another_reason_is_read_whatever_is_sent_with_it(
    tone: Service, method: str, path: str, status: int
) -> None:
    answers = at_once(
        lambda _: tone.request(method, path, TOO_LONG, {"Connection": "close"})[0], range(20), n_threads=4
    )
    assert answers == [status] * 20


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
