"""HTTP by hand, for clients that are slow, odd, or gone before the end."""

from __future__ import annotations

import http.client
import json
import socket
import struct
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from support.service import Service

SPEECH = "POST /v1/audio/speech HTTP/1.1"
JSON = "Content-Type: application/json"


class RawClient:
    """One TCP connection; a context manager."""

    def __init__(self, service: Service, receive_buffer: int = 0) -> None:
        parts = urlsplit(service.url)
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(60.0)
        self.socket.connect((str(parts.hostname), int(parts.port or 80)))

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()

    def head(self, first: str, *headers: str) -> None:
        """Send a request's head."""
        self.socket.sendall("\r\n".join([first, "Host: x", *headers, "", ""]).encode())

    def speech(self, text: str, **fields: Any) -> None:
        """Send a whole speech request."""
        body = json.dumps({"input": text, **fields}).encode()
        self.head(SPEECH, JSON, f"Content-Length: {len(body)}")
        self.socket.sendall(body)

    def chunks(self, pieces: Iterable[bytes]) -> None:
        """Send these pieces of a chunked body, without its end."""
        for piece in pieces:
            self.socket.sendall(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")

    def answer(self) -> http.client.HTTPResponse:
        """Return the answer once its head is here; the body is still to be read."""
        response = http.client.HTTPResponse(self.socket)
        response.begin()
        return response

    def reset(self) -> None:
        """Close with a RST, as a client that crashes does."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()
