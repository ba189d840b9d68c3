"""Speech servers of the Wyoming protocol (wyoming-piper): a TCP connection, events of a JSON line and raw parts."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from tts_service.bench.speaker import SpeechFailed, Wanted
from tts_service.errors import Unavailable, UsageError

# Of a line and of each part behind it; a server that announces more is none of this kind.
MAX_PART_BYTES = 1 << 24


class WyomingSpeaker:
    """`synthesize`, answered by audio-start, audio-chunk ... and audio-stop."""

    def __init__(self, url: str, wanted: Wanted, timeout_s: float) -> None:
        self.url = url
        self._address = address_of(url)
        self._timeout_s = timeout_s
        self._voice = {"voice": {"name": wanted.voice}} if wanted.voice else {}
        self._socket: socket.socket | None = None
        self._events: BinaryIO | None = None

    def speak(self, text: str) -> Iterator[float]:
        """See Speaker."""
        events = self._events or self._connect()
        self._send("synthesize", {"text": text, **self._voice})
        started = False
        while True:
            kind, data, payload = read_event(events)
            if kind == "audio-chunk":
                yield len(payload) / _bytes_per_s(data)
            elif kind == "audio-stop":
                if not started:
                    raise SpeechFailed("an answer without audio")
                return
            elif kind == "error":
                raise SpeechFailed(f"error: {data.get('text', '')}")
            started = started or kind == "audio-start"

    def close(self) -> None:
        """See Speaker."""
        if self._events is not None:
            self._events.close()
        if self._socket is not None:
            self._socket.close()
        self._socket = self._events = None

    def _connect(self) -> BinaryIO:
        try:
            self._socket = socket.create_connection(self._address, self._timeout_s)
        except OSError as error:
            raise Unavailable(f"no server answers at {self.url}: {error.strerror or error}") from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._events = self._socket.makefile("rb")
        return self._events

    def _send(self, kind: str, data: dict[str, Any]) -> None:
        assert self._socket is not None
        body = json.dumps(data).encode()
        self._socket.sendall(json.dumps({"type": kind, "data_length": len(body)}).encode() + b"\n" + body)


def read_event(stream: BinaryIO) -> tuple[str, dict[str, Any], bytes]:
    """Return type, data and payload of the next event. SpeechFailed where the server ends or talks otherwise."""
    line = stream.readline(MAX_PART_BYTES)
    if not line.endswith(b"\n"):
        raise SpeechFailed("the server broke off between or within events")
    try:
        header = json.loads(line)
        kind, n_data, n_payload = header["type"], header.get("data_length") or 0, header.get("payload_length") or 0
        data = dict(header.get("data") or {})
        if not max(n_data, n_payload) <= MAX_PART_BYTES:
            raise ValueError(n_data, n_payload)
        if n_data:
            data |= json.loads(_exactly(stream, n_data))
    except (ValueError, TypeError, KeyError, AttributeError):
        raise SpeechFailed(f"not the Wyoming protocol: {line[:80]!r}") from None
    return str(kind), data, _exactly(stream, n_payload)


def address_of(url: str) -> tuple[str, int]:
    """Return host and port of tcp://host:port. UsageError where it is none."""
    try:
        parts = urlsplit(url if "//" in url else f"tcp://{url}")
        if parts.scheme == "tcp" and parts.hostname and parts.port:
            return parts.hostname, parts.port
    except ValueError:
        pass
    raise UsageError(f"--url {url}: expected something like tcp://127.0.0.1:10200")


def _bytes_per_s(data: dict[str, Any]) -> int:
    rate_hz, width, channels = (data.get(key) for key in ("rate", "width", "channels"))
    for value in (rate_hz, width, channels):
        if not isinstance(value, int) or value < 1:
            raise SpeechFailed(f"an audio-chunk without rate, width and channels: {data}")
    assert isinstance(rate_hz, int)
    assert isinstance(width, int)
    assert isinstance(channels, int)
    return rate_hz * width * channels


def _exactly(stream: BinaryIO, n_bytes: int) -> bytes:
    data = stream.read(n_bytes)
    if len(data) < n_bytes:
        raise SpeechFailed(f"the server broke off {n_bytes - len(data)} bytes before the end of an event")
    return data
