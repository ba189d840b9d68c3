"""A WebSocket client for the routes that take text in pieces, with what their clients do with the answers."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

from websockets.sync.client import ClientConnection, connect

from support.service import Service


class Speaking:
    """A connection; what it has heard, by context."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.audio: dict[str | None, bytes] = {}
        self.finals: list[str | None] = []
        self.errors: list[dict[str, Any]] = []

    def say(self, **message: Any) -> None:
        """Send a message."""
        self.socket.send(json.dumps(message))

    def hear(self, timeout_s: float = 20.0) -> dict[str, Any]:
        """Return the next message, and keep what it has."""
        message: dict[str, Any] = json.loads(self.socket.recv(timeout_s))
        name = message.get("contextId")
        if message.get("audio"):
            self.audio[name] = self.audio.get(name, b"") + base64.b64decode(message["audio"])
        if message.get("isFinal"):
            self.finals.append(name)
        if "error" in message:
            self.errors.append(message)
        return message

    def hear_final(self, name: str | None = None) -> bytes:
        """Hear until a context is final; return its audio."""
        while name not in self.finals:
            self.hear()
        return self.audio.get(name, b"")


@contextmanager
def speaking(
    service: Service, voice: str, route: str = "stream-input", headers: dict[str, str] | None = None, **query: Any
) -> Iterator[Speaking]:
    """Open a connection; raw PCM at 24 kHz where the query says nothing else."""
    query = {"output_format": "pcm_24000", "model_id": "eleven_flash_v2_5"} | query
    url = service.url.replace("http://", "ws://") + f"/v1/text-to-speech/{voice}/{route}?{urlencode(query)}"
    with connect(url, additional_headers=headers or {}, max_size=None) as socket:
        yield Speaking(socket)
