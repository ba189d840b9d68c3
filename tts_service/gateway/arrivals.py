"""Connections whose request has not come yet, or not all of it: they wait here, and hold no request thread.

gunicorn gives a connection a thread at its first byte, and that thread waits for the rest of the request: as many
clients as there are threads, each sending a byte a second, would keep everybody else out. Runs on the gateway process's
main thread, in gunicorn's loop.
"""

from __future__ import annotations

import logging
import selectors
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gunicorn.http.unreader import SocketUnreader

from tts_service.gateway.raw_errors import raw_error
from tts_service.gateway.request_head import MAX_HEAD_BYTES, Head, find_head, is_no_request, without_expect

logger = logging.getLogger(__name__)

READ_BYTES = 64 << 10
# Of all requests that are on their way; one that would go beyond is read by a request thread.
MAX_WAITING_BYTES = 64 << 20
# How long a refused client may take to read why, and a stopping gateway waits for requests that may be on their way.
LINGER_S = 2.0
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class DeadlineUnreader(SocketUnreader):  # type: ignore[misc]
    """gunicorn's source of bytes, for one request: first those that came already, and no wait beyond a deadline.

    Used by the request's thread. TimeoutError where the client takes longer.
    """

    def __init__(self, sock: socket.socket, data: bytes, deadline_s: float) -> None:
        super().__init__(sock)
        self.unread(data)
        self._deadline_s = deadline_s

    def chunk(self, size_hint: int | None = None) -> bytes:
        """Called by gunicorn for bytes from the socket."""
        before = self.sock.gettimeout()
        left_s = self._deadline_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("the request did not come in time")
        self.sock.settimeout(left_s if before is None else min(before, left_s))
        try:
            data: bytes = super().chunk(size_hint)
            return data
        finally:
            self.sock.settimeout(before)


@dataclass(eq=False)
class _Arrival:
    connection: Any
    """gunicorn's, with its socket in non-blocking mode."""
    deadline_s: float
    data: bytearray = field(default_factory=bytearray)
    head: Head | None = None
    refused: bool = False
    """It has been told why, and may read that before the connection is closed."""


class Arrivals:
    """Hands a connection over once its request is whole; closes it when that takes too long.

    `hand_over` takes gunicorn's connection; `closed` is called for each that ends here.
    """

    def __init__(
        self,
        poller: selectors.BaseSelector,
        hand_over: Callable[[Any], None],
        closed: Callable[[], None],
        *,
        head_timeout_s: float,
        body_timeout_s: float,
        max_body_bytes: int,
    ) -> None:
        self._poller = poller
        self._hand_over_to = hand_over
        self._closed = closed
        self._head_timeout_s = head_timeout_s
        self._body_timeout_s = body_timeout_s
        self._max_body_bytes = max_body_bytes
        self._waiting: dict[_Arrival, None] = {}
        """In the order in which they came."""
        self._n_bytes = 0
        self._next_look_s = 0.0

    def admit(self, connection: Any) -> None:
        """Take a connection that is new, or has had its last answer."""
        connection.sock.setblocking(False)
        arrival = _Arrival(connection, time.monotonic() + self._head_timeout_s)
        if connection.parser is not None:
            # What was read of the next request together with the last one.
            arrival.data += connection.parser.unreader.take_buffered()
            self._n_bytes += len(arrival.data)
        self._waiting[arrival] = None
        self._poller.register(connection.sock, selectors.EVENT_READ, lambda _: self._read(arrival))
        if arrival.data and not self._look(arrival, 0):
            return
        # As a rule the whole request has come with the connection.
        self._read(arrival)

    def leave(self, connection: Any) -> None:
        """Close a connection after its last answer, as soon as its client has, or after a while.

        To close it at once, with bytes of the client unread, would reset it, and could take the answer with it.
        """
        try:
            connection.sock.setblocking(False)
            connection.sock.shutdown(socket.SHUT_WR)
            arrival = _Arrival(connection, time.monotonic() + LINGER_S, refused=True)
            self._poller.register(connection.sock, selectors.EVENT_READ, lambda _: self._read(arrival))
            self._waiting[arrival] = None
        except (OSError, ValueError):
            connection.close()
            self._closed()

    def expire(self) -> None:
        """Close what has waited for too long. Called often."""
        now = time.monotonic()
        if now < self._next_look_s:
            return
        self._next_look_s = now + 0.5
        for arrival in [arrival for arrival in self._waiting if arrival.deadline_s < now]:
            if arrival.data and not arrival.refused:
                self._refuse(arrival, 408, "the request did not come in time")
            else:
                self._end(arrival)

    def hasten(self) -> None:
        """Wait for no new request any more, but for a moment."""
        limit_s = time.monotonic() + LINGER_S
        for arrival in self._waiting:
            if not arrival.data:
                arrival.deadline_s = min(arrival.deadline_s, limit_s)

    def make_room(self) -> bool:
        """Close the connection that has waited longest; return False where there is none."""
        oldest = next(iter(self._waiting), None)
        if oldest is not None:
            self._end(oldest)
        return oldest is not None

    def _read(self, arrival: _Arrival) -> None:
        if arrival not in self._waiting:
            # Closed after the poller had found something to read.
            return
        try:
            data = arrival.connection.sock.recv(READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self._end(arrival)
        elif not arrival.refused:
            n_seen = len(arrival.data)
            arrival.data += data
            self._n_bytes += len(data)
            self._look(arrival, n_seen)

    def _look(self, arrival: _Arrival, n_seen: int) -> bool:
        """Decide about what has come; return True while more is wanted."""
        if arrival.head is None:
            if is_no_request(arrival.data):
                self._refuse(arrival, 400, "this is not a valid HTTP/1.1 request")
                return False
            arrival.head = find_head(arrival.data, n_seen)
            if arrival.head is None:
                if len(arrival.data) > MAX_HEAD_BYTES:
                    self._refuse(arrival, 431, f"the request's head is longer than {MAX_HEAD_BYTES} bytes")
                    return False
                return True
            arrival.deadline_s = time.monotonic() + self._body_timeout_s
            self._let_go_on(arrival)
        if arrival.head.is_whole(arrival.data) or self._is_too_much(arrival, arrival.head):
            self._hand_over(arrival)
            return False
        return True

    def _is_too_much(self, arrival: _Arrival, head: Head) -> bool:
        """Return True for a body that is refused anyhow, and where there is no room for more of it."""
        longest = max(head.body_bytes, len(arrival.data) - head.n_bytes - READ_BYTES)
        return longest > self._max_body_bytes or self._n_bytes > MAX_WAITING_BYTES

    def _let_go_on(self, arrival: _Arrival) -> None:
        head = arrival.head
        if head is None or not head.expects_continue or self._is_too_much(arrival, head):
            return
        try:
            arrival.connection.sock.send(CONTINUE)
        except OSError:
            return
        n_before = len(arrival.data)
        arrival.data = without_expect(arrival.data, head)
        self._n_bytes -= n_before - len(arrival.data)
        arrival.head = find_head(arrival.data, 0)

    def _hand_over(self, arrival: _Arrival) -> None:
        self._forget(arrival)
        connection = arrival.connection
        # Makes gunicorn's parser, if it has none yet.
        connection.init()
        connection.parser.unreader = DeadlineUnreader(connection.sock, bytes(arrival.data), arrival.deadline_s)
        connection.data_ready = True
        self._hand_over_to(connection)

    def _refuse(self, arrival: _Arrival, status: int, message: str) -> None:
        logger.info("refused what came on a connection: status=%d %s", status, message)
        try:
            arrival.connection.sock.send(raw_error(status, message))
            arrival.connection.sock.shutdown(socket.SHUT_WR)
        except OSError:
            self._end(arrival)
            return
        self._n_bytes -= len(arrival.data)
        arrival.data.clear()
        arrival.refused, arrival.deadline_s = True, time.monotonic() + LINGER_S

    def _end(self, arrival: _Arrival) -> None:
        self._forget(arrival)
        arrival.connection.close()
        self._closed()

    def _forget(self, arrival: _Arrival) -> None:
        del self._waiting[arrival]
        self._n_bytes -= len(arrival.data)
        try:
            self._poller.unregister(arrival.connection.sock)
        except (KeyError, ValueError, OSError):
            # The socket was closed under it.
            pass
