"""The commands' HTTP client against servers that break off, lie, or are not there."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable

import pytest

from support.raw_server import answering, refusing_port
from tts_service.errors import Unavailable, UsageError
from tts_service.http_client import Answer, Connection

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
WHOLE = {
    "counted": OK + b"Content-Length: 5\r\n\r\nabcde",
    "chunked": CHUNKED + b"2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n",
    "until the end": b"HTTP/1.0 200 OK\r\n\r\nabcde",
}
BROKEN_OFF = {
    "counted": OK + b"Content-Length: 10\r\n\r\nabcde",
    "counted, nothing": OK + b"Content-Length: 10\r\n\r\n",
    "between chunks": CHUNKED + b"5\r\nabcde\r\n",
    "within a chunk": CHUNKED + b"8\r\nabcde",
    "within a chunk's size": CHUNKED + b"5\r\nabcde\r\n1",
    "before the first chunk": CHUNKED,
    "no chunk size": CHUNKED + b"5\r\nabcde\r\nxyz\r\nabcde\r\n0\r\n\r\n",
}


def read_whole(answer: Answer) -> bytes:
    return answer.body()


def read_as_it_comes(answer: Answer) -> bytes:
    return b"".join(answer.chunks())


READERS = [read_whole, read_as_it_comes]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("raw", WHOLE.values(), ids=WHOLE)
def test_a_whole_body_is_read_however_it_is_sent(raw: bytes, read: Callable[[Answer], bytes]) -> None:
    with answering(raw) as server, Connection(server.url, 5.0) as connection:
        answer = connection.get("/")
        assert answer.status == 200
        assert read(answer) == b"abcde"


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("raw", BROKEN_OFF.values(), ids=BROKEN_OFF)
def test_a_body_that_breaks_off_is_incomplete(raw: bytes, read: Callable[[Answer], bytes]) -> None:
    with answering(raw) as server, Connection(server.url, 5.0) as connection:
        answer = connection.get("/")
        with pytest.raises(http.client.IncompleteRead):
            read(answer)


@pytest.mark.parametrize("raw", [BROKEN_OFF["counted"], BROKEN_OFF["between chunks"]], ids=["counted", "chunked"])
def test_a_connection_that_is_reset_while_the_body_comes_leaves_it_incomplete(raw: bytes) -> None:
    with answering(raw, "reset") as server, Connection(server.url, 5.0) as connection:
        chunks = connection.get("/").chunks()
        assert next(chunks) == b"abcde"
        server.read.set()
        with pytest.raises(http.client.IncompleteRead):
            next(chunks)
    with answering(raw, "reset") as server, Connection(server.url, 5.0) as connection:
        answer = connection.get("/")
        server.read.set()
        with pytest.raises(http.client.IncompleteRead):
            answer.body()


def test_what_has_come_is_handed_out_before_the_rest_is_there() -> None:
    with answering(CHUNKED + b"5\r\nabcde\r\n", "reset") as server, Connection(server.url, 5.0) as connection:
        # The server waits for `read`, which is not set before this has returned.
        assert next(connection.get("/").chunks()) == b"abcde"


def test_a_refused_connection_is_unavailable_and_names_the_server() -> None:
    url = f"http://127.0.0.1:{refusing_port()}"
    with Connection(url, 5.0) as connection, pytest.raises(Unavailable, match="Connection refused") as caught:
        connection.get("/")
    assert url in str(caught.value)


@pytest.mark.parametrize("raw", [b"", b"HTTP/1.1 ", b"nonsense\r\n\r\n", OK + b"Content-"], ids=repr)
def test_a_server_that_does_not_answer_in_http_is_unavailable(raw: bytes) -> None:
    with answering(raw) as server, Connection(server.url, 5.0) as connection:
        if raw.startswith(OK):
            # Headers may end with the connection; what is missing is then the body.
            assert connection.get("/").body() == b""
        else:
            with pytest.raises(Unavailable):
                connection.get("/")


def test_a_server_that_says_nothing_is_unavailable_after_the_timeout() -> None:
    with answering(b"", "reset") as server, Connection(server.url, 0.1) as connection, pytest.raises(Unavailable):
        connection.get("/")


def test_a_post_sends_json_and_the_headers_it_is_given() -> None:
    raw = b'HTTP/1.1 418 Teapot\r\nContent-Length: 9\r\nX-Kind: pot\r\n\r\n{"a": 1}\n'
    with answering(raw) as server, Connection(server.url + "/base/", 5.0) as connection:
        answer = connection.post("/speech", {"input": "Grüße"}, {"X-Request-Id": "r1"})
        assert (answer.status, answer.headers["X-Kind"], answer.json()) == (418, "pot", {"a": 1})
    head, _, body = server.request.partition(b"\r\n\r\n")
    assert head.startswith(b"POST /base/speech HTTP/1.1\r\n")
    assert b"Content-Type: application/json" in head
    assert b"X-Request-Id: r1" in head
    assert json.loads(body) == {"input": "Grüße"}


def test_a_url_may_leave_its_scheme_out() -> None:
    with answering(WHOLE["counted"]) as server, Connection(server.url.removeprefix("http://"), 5.0) as connection:
        assert connection.get("/").body() == b"abcde"


@pytest.mark.parametrize(
    "url",
    ["ftp://host", "http://", "", "http://host:http", "http://host:99999", "http://[::1", "http://a b", "file:///x"],
)
def test_a_url_that_is_none_is_a_usage_error_that_shows_it(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        Connection(url, 1.0)
    assert f"--url {url}:" in str(caught.value)
