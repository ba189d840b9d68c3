"""The gateway's end of the socket to the dispatcher. Made and used by one thread, after gunicorn's fork."""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Iterator

import zmq

from tts_service.errors import ProtocolError
from tts_service.protocol import TO_GATEWAY, FromGateway, ToGateway, decode, encode

logger = logging.getLogger(__name__)

LINGER_MS = 500
RECONNECT_MS = 50


class DispatcherSocket:
    """Sends and receives; knows nothing of what messages mean. Constructing it connects."""

    def __init__(self, endpoint: str, wake_fd: int) -> None:
        self._context = zmq.Context(io_threads=1)
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.identity = f"gateway-{os.getpid()}-{secrets.token_hex(4)}".encode()
        self._socket.sndhwm = self._socket.rcvhwm = 0
        self._socket.linger = LINGER_MS
        self._socket.reconnect_ivl = RECONNECT_MS
        # Nothing is kept for a dispatcher that is not there: the next one would get a day's greetings at once.
        self._socket.immediate = True
        self._socket.connect(endpoint)
        self._poller = zmq.Poller()
        self._poller.register(self._socket, zmq.POLLIN)
        self._poller.register(wake_fd, zmq.POLLIN)

    def wait(self, timeout_s: float) -> None:
        """Wait for a message or a wake-up."""
        self._poller.poll(int(max(0.0, timeout_s) * 1000) + 1)

    def send(self, message: FromGateway) -> bool:
        """Send; return False where nobody is connected."""
        try:
            self._socket.send(encode(message), zmq.NOBLOCK)
        except zmq.Again:
            return False
        return True

    def receive(self) -> Iterator[tuple[ToGateway, bytes]]:
        """Yield the messages that wait, each with its samples, b"" for all but a Chunk."""
        # Asking first is cheaper than the exception of a receive that finds nothing.
        while int(self._socket.get(zmq.EVENTS)) & zmq.POLLIN:
            frames = self._socket.recv_multipart(zmq.NOBLOCK)
            try:
                yield decode(TO_GATEWAY, frames[0]), frames[1] if len(frames) > 1 else b""
            except ProtocolError as error:
                logger.error("ignored a message of the dispatcher: %s", error)

    def close(self) -> None:
        """Send what is pending, for half a second at most, and close."""
        self._context.destroy(linger=LINGER_MS)
