"""A TCP server that says what a test tells it to, byte for byte, and then breaks off as it is told."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

# Close with unread or unsent data thrown away: the peer sees a reset (SO_LINGER on, 0 s).
_LINGER_RESET = struct.pack("ii", 1, 0)

Ending = Literal["close", "reset"]


class RawServer:
    """Answers one connection with `raw`. `request` is what the client sent before that."""

    def __init__(self, raw: bytes, ending: Ending) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.request = b""
        self.read = threading.Event()
        """Set by a test when its client has read what came: a reset throws away what is still on its way."""
        self._raw = raw
        self._ending = ending

    def serve(self) -> None:
        try:
            connection, _ = self.listener.accept()
        except OSError:
            return
        with connection:
            connection.settimeout(5.0)
            self._read_request(connection)
            connection.sendall(self._raw)
            if self._ending == "reset":
                self.read.wait(5.0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_RESET)

    def _read_request(self, connection: socket.socket) -> None:
        with connection.makefile("rb") as file:
            length = 0
            for line in iter(file.readline, b""):
                self.request += line
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
                if not line.strip():
                    break
            self.request += file.read(length)


@contextmanager
def answering(raw: bytes, ending: Ending = "close") -> Iterator[RawServer]:
    """Serve one connection on a thread of its own, which has ended afterwards."""
    server = RawServer(raw, ending)
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        yield server
    finally:
        server.read.set()
        # Wakes an accept that nobody has come to.
        server.listener.shutdown(socket.SHUT_RDWR)
        thread.join(5.0)
        server.listener.close()


def refusing_port() -> int:
    """Return a port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
