"""The listening socket, and how it can be reached."""

from __future__ import annotations

import socket

import pytest

from tts_service.errors import CannotStart
from tts_service.gateway.listener import listen, url_of


@pytest.mark.parametrize(
    ("host", "name"),
    [("127.0.0.1", "127.0.0.1"), ("localhost", "localhost"), ("0.0.0.0", "127.0.0.1")],
)
def test_a_free_port_can_be_reached_at_its_url(host: str, name: str) -> None:
    with listen(host, 0) as listener:
        url = url_of(listener, host)
        address, _, port = url.removeprefix("http://").rpartition(":")
        assert address == name
        with socket.create_connection((address, int(port)), timeout=5.0):
            connection, _ = listener.accept()
            connection.close()


def test_an_ipv6_address_is_put_in_brackets() -> None:
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        assert url_of(listener, "::1") == f"http://[::1]:{port}"
        assert url_of(listener, "::") == f"http://[::1]:{port}"


def test_a_port_in_use_cannot_be_had_twice() -> None:
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(CannotStart, match=f"cannot listen on 127.0.0.1 port {port}: Address already in use"):
            listen("127.0.0.1", port)


def test_an_address_that_is_not_this_machines_cannot_be_had() -> None:
    with pytest.raises(CannotStart, match=r"cannot listen on 203\.0\.113\.1 port 0: Cannot assign requested address"):
        listen("203.0.113.1", 0)


def test_a_port_that_was_used_a_moment_ago_can_be_had_again() -> None:
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"x")
            connection, _ = listener.accept()
            # The side that closes first is the one that keeps the port occupied.
            connection.close()
    with listen("127.0.0.1", port) as again:
        assert again.getsockname()[1] == port


def test_a_child_process_can_take_the_socket_over() -> None:
    with listen("127.0.0.1", 0) as listener:
        assert listener.get_inheritable()
