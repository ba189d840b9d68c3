"""What can be asked of and told to the TCP connection behind a request, where gunicorn shows it."""

from __future__ import annotations

import select
import socket
import struct
from collections.abc import Mapping
from typing import Any

from tts_service.errors import ClientGone


class Connection:
    """One request's connection; used by its thread only. Without a socket (in tests) nothing happens."""

    def __init__(self, environ: Mapping[str, Any]) -> None:
        self._socket: socket.socket | None = environ.get("gunicorn.socket")
        self.can_show_failure = environ.get("SERVER_PROTOCOL") != "HTTP/1.0"
        """False for HTTP/1.0: there a stream that breaks off looks complete."""

    def check_open(self) -> None:
        """Raise ClientGone when the client has closed its end.

        A client that only ends its sending side looks the same; no HTTP client in use does that.
        """
        if self._socket is None:
            return
        poll = select.poll()
        poll.register(self._socket, select.POLLRDHUP)
        if poll.poll(0):
            raise ClientGone("the client closed the connection")

    def limit_sends(self, timeout_s: float) -> None:
        """Let a send fail when the client takes no byte for `timeout_s` seconds."""
        if self._socket is not None:
            seconds, rest = divmod(timeout_s, 1)
            timeval = struct.pack("ll", int(seconds), int(rest * 1_000_000))
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeval)
