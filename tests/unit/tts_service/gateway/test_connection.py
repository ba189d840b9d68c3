"""What a request can learn of its client, over real sockets."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator

import pytest

from tts_service.errors import ClientGone
from tts_service.gateway.connection import Connection


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """The server's and the client's end of one connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        server, _ = listener.accept()
    with server, client:
        yield server, client


def test_an_open_connection_is_open_whatever_has_been_sent(pair: tuple[socket.socket, socket.socket]) -> None:
    server, client = pair
    connection = Connection({"gunicorn.socket": server})
    connection.check_open()
    client.sendall(b"GET / HTTP/1.1\r\n\r\n")
    assert server.recv(4, socket.MSG_PEEK) == b"GET "
    connection.check_open()


def test_a_client_that_has_closed_is_gone_though_its_data_was_not_read(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    server, client = pair
    client.sendall(b"unread")
    client.close()
    assert server.recv(6, socket.MSG_WAITALL | socket.MSG_PEEK) == b"unread"
    with pytest.raises(ClientGone):
        _look_until_gone(server)


def test_a_client_that_has_reset_the_connection_is_gone(pair: tuple[socket.socket, socket.socket]) -> None:
    server, client = pair
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    with pytest.raises(ClientGone):
        _look_until_gone(server)


def test_a_client_that_has_ended_its_sending_side_looks_gone(pair: tuple[socket.socket, socket.socket]) -> None:
    server, client = pair
    client.shutdown(socket.SHUT_WR)
    with pytest.raises(ClientGone):
        _look_until_gone(server)


def test_without_a_socket_nobody_is_ever_gone() -> None:
    connection = Connection({})
    connection.check_open()
    connection.limit_sends(1.0)
    assert connection.can_show_failure


@pytest.mark.parametrize(("protocol", "can"), [("HTTP/1.0", False), ("HTTP/1.1", True), ("HTTP/2", True), (None, True)])
def test_only_http_1_0_cannot_show_that_a_stream_broke_off(protocol: str | None, can: bool) -> None:
    environ = {} if protocol is None else {"SERVER_PROTOCOL": protocol}
    assert Connection(environ).can_show_failure is can


def test_a_send_that_nobody_takes_fails_after_its_limit(pair: tuple[socket.socket, socket.socket]) -> None:
    server, _ = pair
    server.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    Connection({"gunicorn.socket": server}).limit_sends(0.05)
    failures: list[OSError] = []

    def send() -> None:
        try:
            # More than both kernels' buffers hold.
            for _ in range(100):
                server.sendall(b"x" * (1 << 20))
        except OSError as error:
            failures.append(error)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    thread.join(10.0)
    assert not thread.is_alive()
    assert [isinstance(error, BlockingIOError) for error in failures] == [True]


def test_a_limit_is_set_with_its_fraction_of_a_second(pair: tuple[socket.socket, socket.socket]) -> None:
    server, _ = pair
    Connection({"gunicorn.socket": server}).limit_sends(1.5)
    timeval = server.getsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.calcsize("ll"))
    seconds, microseconds = struct.unpack("ll", timeval)
    assert seconds == 1
    assert microseconds == pytest.approx(500_000, abs=10_000)


def _look_until_gone(server: socket.socket) -> None:
    """Look as often as it takes the kernel to deliver the end, which is soon."""
    for _ in range(1000):
        Connection({"gunicorn.socket": server}).check_open()
        threading.Event().wait(0.005)
