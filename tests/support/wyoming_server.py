"""A speech server of the Wyoming protocol that answers each event as a test has prepared it, and can break off."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

FORMAT = {"rate": 16000, "width": 2, "channels": 1}


def event(kind: str, data: dict[str, Any] | None = None, payload: bytes = b"", *, inline: bool = False) -> bytes:
    """Return the bytes of an event; `inline` has its data in the header, as old servers do."""
    header: dict[str, Any] = {"type": kind, "version": "1.5.2"}
    body = b"" if inline or data is None else json.dumps(data).encode()
    if inline:
        header["data"] = data
    elif body:
        header["data_length"] = len(body)
    if payload:
        header["payload_length"] = len(payload)
    return json.dumps(header).encode() + b"\n" + body + payload


def spoken(seconds: float, n_chunks: int = 4, *, inline: bool = False) -> bytes:
    """Return a whole answer with so much silence."""
    n_bytes = round(seconds * 16000) * 2 // n_chunks
    chunks = [event("audio-chunk", FORMAT, bytes(n_bytes), inline=inline) for _ in range(n_chunks)]
    return b"".join([event("audio-start", FORMAT, inline=inline), *chunks, event("audio-stop")])


class WyomingServer(socketserver.ThreadingTCPServer):
    """Gives its answers in order, one for each event, the last one for ever; b"" ends the connection."""

    allow_reuse_address = True
    daemon_threads = False

    def __init__(self, answers: list[bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = answers
        self.asked: list[dict[str, Any]] = []
        self.n_connections = 0
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"tcp://127.0.0.1:{self.server_address[1]}"

    def next_answer(self, asked: dict[str, Any]) -> bytes:
        with self.lock:
            self.asked.append(asked)
            return self.answers[min(len(self.asked), len(self.answers)) - 1]


class _Handler(socketserver.StreamRequestHandler):
    server: WyomingServer

    def handle(self) -> None:
        with self.server.lock:
            self.server.n_connections += 1
        while line := self.rfile.readline():
            header = json.loads(line)
            asked = json.loads(self.rfile.read(header.get("data_length", 0)) or b"{}")
            answer = self.server.next_answer({"type": header["type"], **asked})
            self.wfile.write(answer)
            if not answer.endswith(event("audio-stop")):
                return


@contextmanager
def speaking(*answers: bytes) -> Iterator[WyomingServer]:
    """Serve until the block ends."""
    with WyomingServer(list(answers)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
