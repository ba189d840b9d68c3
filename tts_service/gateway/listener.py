"""The listening socket: made before anything else is started, so that a port in use is one clear line."""

from __future__ import annotations

import socket

from tts_service.errors import CannotStart

BACKLOG = 1024


def listen(host: str, port: int) -> socket.socket:
    """Return a listening TCP socket; CannotStart where the address cannot be had."""
    try:
        family = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise CannotStart(
            f"cannot listen on {host} port {port}: {error.strerror or error}; choose another --port"
        ) from error
    listener.set_inheritable(True)
    return listener


def url_of(listener: socket.socket, host: str) -> str:
    """Return the URL at which a listening socket can be reached from this machine."""
    port = listener.getsockname()[1]
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{name}:{port}"
