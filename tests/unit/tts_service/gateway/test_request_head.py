"""How much of a request is still to come, by its first bytes."""

from __future__ import annotations

import pytest

from tts_service.gateway.request_head import find_head, is_no_request, without_expect

POST = b"POST /x HTTP/1.1\r\nHost: x\r\n"


def whole_after(raw: bytes) -> int:
    """Return after how many bytes a request counts as whole, when it comes byte by byte."""
    data = bytearray()
    head = None
    for n, byte in enumerate(raw, start=1):
        data.append(byte)
        head = head or find_head(data, n - 1)
        if head is not None and head.is_whole(data):
            return n
    raise AssertionError("never whole")


@pytest.mark.parametrize(
    "raw",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        POST + b"Content-Length: 5\r\n\r\nhello",
        POST + b"content-length:5 \r\n\r\nhello",
        POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        POST + b"transfer-encoding: gzip, Chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n",
        POST + b"Content-Length: 0\r\n\r\n",
    ],
)
def test_a_request_is_whole_at_its_last_byte(raw: bytes) -> None:
    assert whole_after(raw) == len(raw)


def test_a_second_request_behind_a_chunked_one_does_not_hide_its_end() -> None:
    data = bytearray(POST + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\nGET / HT")
    head = find_head(data, 0)
    assert head is not None
    assert head.is_whole(data)


@pytest.mark.parametrize("lines", [b"Content-Length: x\r\n", b"Content-Length: 5\r\nContent-Length: 6\r\n"])
def test_a_length_that_cannot_be_read_is_left_to_the_parser(lines: bytes) -> None:
    head = find_head(bytearray(POST + lines + b"\r\n"), 0)
    assert head is not None
    assert head.body_bytes == 0


@pytest.mark.parametrize("raw", [b"\x16\x03\x01\x02", b"\x00", b"\xff\xfe", b"GET / HTTP/1.0\n\n", b" GET", b"{"])
def test_bytes_of_another_protocol_are_found_at_once(raw: bytes) -> None:
    assert is_no_request(bytearray(raw))


@pytest.mark.parametrize("raw", [b"G", b"GET / HTTP/1.1\r\n", b"\r\nGET", b"GET / HTTP/1.1\r\n\r\na\n\nb"])
def test_the_beginning_of_a_request_is_none_of_them(raw: bytes) -> None:
    assert not is_no_request(bytearray(raw))


def test_only_a_client_of_http_1_1_can_wait_to_be_told_to_go_on() -> None:
    raw = POST + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhe"
    head = find_head(bytearray(raw), 0)
    old = find_head(bytearray(raw.replace(b"1.1", b"1.0")), 0)
    assert head is not None
    assert old is not None
    assert (head.expects_continue, old.expects_continue) == (True, False)
    assert without_expect(bytearray(raw), head) == POST + b"Content-Length: 5\r\n\r\nhe"
