"""`python -m tts_service.bench.leaver_process`: clients that leave before they have their answer, each on a thread.

Sockets by hand: how a connection ends is what matters here.
"""

from __future__ import annotations

import json
import select
import socket
import struct
import threading
import time
from typing import Any
from urllib.parse import urlsplit

import msgspec

from tts_service.bench.line_process import serve_lines

READ_BYTES = 65536
CONNECT_TIMEOUT_S = 30.0
# Close with a RST, as a client that crashes does (SO_LINGER on, 0 s).
_LINGER_RESET = struct.pack("ii", 1, 0)


class Leaver(msgspec.Struct, frozen=True):
    """One client. Times are seconds."""

    body: dict[str, Any]
    at_s: float
    """When it comes, from the start of the round."""
    stays_s: float
    """It leaves after so long, whatever it has."""
    takes_bytes: int
    """It leaves when it has so much of the answer; 0: only its time counts."""
    resets: bool
    """It leaves with a RST, not with a FIN."""


class Leavers(msgspec.Struct, frozen=True):
    """A round."""

    url: str
    leavers: list[Leaver]


class Left(msgspec.Struct, frozen=True):
    """How far one client had come when it left."""

    status: int = 0
    """0 where no answer had begun."""
    n_bytes: int = 0
    """Of the answer, its head included."""
    problem: str = ""
    """Why it could not even ask."""


class LeaversReport(msgspec.Struct, frozen=True):
    """What came of a round."""

    last_left_s: float
    """Monotonic time."""
    left: list[Left]


def make(leavers: Leavers) -> LeaversReport:
    """Carry out a round."""
    parts = urlsplit(leavers.url)
    address = (str(parts.hostname), parts.port or 80)
    found = [Left()] * len(leavers.leavers)

    def one(index: int) -> None:
        try:
            found[index] = _visit(address, leavers.leavers[index])
        except OSError as error:
            found[index] = Left(problem=repr(error))

    started_s = time.monotonic()
    threads = []
    for index in sorted(range(len(found)), key=lambda index: leavers.leavers[index].at_s):
        time.sleep(max(0.0, started_s + leavers.leavers[index].at_s - time.monotonic()))
        threads.append(threading.Thread(target=one, args=(index,)))
        threads[-1].start()
    for thread in threads:
        thread.join()
    return LeaversReport(time.monotonic(), found)


def _visit(address: tuple[str, int], leaver: Leaver) -> Left:
    with socket.create_connection(address, CONNECT_TIMEOUT_S) as client:
        client.sendall(_request(leaver.body))
        deadline = time.monotonic() + leaver.stays_s
        start, n_bytes = b"", 0
        while not leaver.takes_bytes or n_bytes < leaver.takes_bytes:
            if not select.select([client], [], [], max(0.0, deadline - time.monotonic()))[0]:
                break
            data = client.recv(min(READ_BYTES, leaver.takes_bytes - n_bytes) if leaver.takes_bytes else READ_BYTES)
            if not data:
                break
            start, n_bytes = start or data[:12], n_bytes + len(data)
        if leaver.resets:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_RESET)
        return Left(int(start[9:12]) if len(start) == 12 else 0, n_bytes)


def _request(body: dict[str, Any]) -> bytes:
    data = json.dumps(body).encode()
    head = "POST /v1/audio/speech HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return head.encode() + f"Content-Length: {len(data)}\r\n\r\n".encode() + data


if __name__ == "__main__":
    serve_lines(Leavers, lambda: make)
