"""One WebSocket on a connection that gunicorn has taken, by wsproto. Owned by the request's thread, as all of it is.

Nothing is read but when the owner asks: what a client sends beyond that waits in the kernel's buffers, and so stops the
client.
"""

from __future__ import annotations

import select
import socket
from typing import Any

from flask import Request
from wsproto import ConnectionType, WSConnection, events
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

from tts_service.errors import ClientGone, Code, RequestFailed

READ_BYTES = 16384
# What a client may send after it has been told that the connection is over.
MAX_CLOSING_BYTES = 1 << 20
CLOSING_TIMEOUT_S = 1.0
# RFC 6455, 7.4.1, and 1013 of IANA's registry.
NORMAL, GOING_AWAY, PROTOCOL_ERROR, UNSUPPORTED_DATA = 1000, 1001, 1002, 1003
POLICY, TOO_BIG, INTERNAL_ERROR, TRY_LATER = 1008, 1009, 1011, 1013


class Refused(Exception):
    """What came cannot be gone on with: `code` and message for the client."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class WebSocket:
    """The server's end. Construct it, then `accept` or let it go; `close` at the end."""

    def __init__(self, request: Request, max_message_bytes: int) -> None:
        self._max_message_bytes = max_message_bytes
        self._protocol = WSConnection(ConnectionType.SERVER)
        self._parts: list[str] = []
        self._n_chars = 0
        self._gone = False
        self._socket = _socket_of(request)
        # What would look like a body to the handshake is none.
        headers = [
            (name.lower().encode("latin-1"), value.encode("latin-1"))
            for name, value in request.headers.items()
            if name.lower() not in ("content-length", "transfer-encoding")
        ]
        try:
            self._protocol.initiate_upgrade_connection(headers, "/")
            for _ in self._protocol.events():
                pass
        except (RemoteProtocolError, LocalProtocolError, ValueError) as error:
            raise RequestFailed(Code.INVALID_REQUEST, f"the WebSocket handshake is not valid: {error}") from None

    def accept(self, headers: dict[str, str]) -> None:
        """Answer the handshake. Compression is declined: audio hardly gets smaller, and it costs memory."""
        extra = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        self._send(events.AcceptConnection(extra_headers=extra))

    def send(self, text: str) -> None:
        """Send a message. ClientGone where nobody takes it."""
        self._send(events.TextMessage(data=text))

    def receive(self, timeout_s: float) -> list[str]:
        """Return the whole messages that have come, waiting up to `timeout_s` for any byte.

        ClientGone where the client has closed the connection, Refused where it sent what it must not.
        """
        if self._gone:
            raise ClientGone("the client closed the connection")
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        if not poll.poll(1000 * timeout_s):
            return []
        try:
            data = self._socket.recv(READ_BYTES)
        except OSError as error:
            raise self._lost(error) from error
        if not data:
            raise self._lost(None)
        try:
            self._protocol.receive_data(data)
            return self._messages()
        except RemoteProtocolError as error:
            raise Refused(PROTOCOL_ERROR, f"not WebSocket: {error}") from None

    def close(self, code: int, reason: str = "") -> None:
        """Say goodbye, and let the client do so, for a moment. Nothing is raised."""
        if self._gone:
            return
        try:
            # A reason holds 123 bytes (RFC 6455, 5.5).
            self._send(events.CloseConnection(code, reason.encode()[:123].decode(errors="ignore")))
            self._socket.shutdown(socket.SHUT_WR)
            # Unread bytes at its end would reset the connection, and what was sent last with it.
            self._socket.settimeout(CLOSING_TIMEOUT_S)
            n_bytes = 0
            while n_bytes < MAX_CLOSING_BYTES and (data := self._socket.recv(READ_BYTES)):
                n_bytes += len(data)
        except (ClientGone, LocalProtocolError, OSError):
            pass
        self._gone = True

    def _messages(self) -> list[str]:
        messages = []
        for event in self._protocol.events():
            if isinstance(event, events.TextMessage):
                self._n_chars += len(event.data)
                if self._n_chars > self._max_message_bytes:
                    message = f"a message is longer than {self._max_message_bytes} bytes"
                    raise Refused(TOO_BIG, message)
                self._parts.append(event.data)
                if event.message_finished:
                    messages.append("".join(self._parts))
                    self._parts, self._n_chars = [], 0
            elif isinstance(event, events.BytesMessage):
                raise Refused(UNSUPPORTED_DATA, "binary messages are not understood: expected JSON as text")
            elif isinstance(event, events.Ping):
                self._send(event.response())
            elif isinstance(event, events.CloseConnection):
                self._send(event.response())
                # What came before it is still answered by nobody: the client has gone.
                raise self._lost(None)
        return messages

    def _send(self, event: Any) -> None:
        if self._gone:
            raise ClientGone("the client closed the connection")
        try:
            self._socket.sendall(self._protocol.send(event))
        except OSError as error:
            # Also a client that takes nothing for too long: half a frame may be out, nothing can follow it.
            raise self._lost(error) from error

    def _lost(self, error: OSError | None) -> ClientGone:
        self._gone = True
        return ClientGone(f"the client closed the connection{f' ({error.strerror})' if error else ''}")


def _socket_of(request: Request) -> socket.socket:
    if request.environ.get("SERVER_PROTOCOL") == "HTTP/1.0":
        raise RequestFailed(Code.INVALID_REQUEST, "a WebSocket needs HTTP/1.1, this is HTTP/1.0")
    sock = request.environ.get("gunicorn.socket")
    if not isinstance(sock, socket.socket):
        raise RequestFailed(Code.INTERNAL, "this server cannot hand a connection over to a WebSocket")
    return sock
