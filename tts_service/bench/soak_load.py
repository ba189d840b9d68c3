"""Clients of the soak: whole answers and streams, clients that leave, bad requests, fresh and kept connections.

One thread a client; all of them can be parked, so that what is measured then is what stays behind.
"""

from __future__ import annotations

import http.client
import random
import threading
from collections import Counter
from contextlib import suppress

from tts_service.errors import Unavailable
from tts_service.http_client import Connection

TEXTS = (
    "A short one.",
    "The quick brown fox jumps over the lazy dog, and does so every day.",
    "It rained all morning. The streets were empty, and the shops had not opened yet. Somebody was singing.",
    "Please hold the line. " * 6,
)
# Each must be refused by the status that comes with it.
BAD_BODIES: tuple[tuple[dict[str, object], int], ...] = (
    ({}, 400),
    ({"input": "Hello.", "voice": "no such voice"}, 400),
    ({"input": "Hello.", "speed": 99}, 400),
    ({"input": "   "}, 400),
)
TIMEOUT_S = 60.0
_KINDS = (("whole", 55), ("stream", 20), ("leave early", 8), ("leave late", 8), ("bad", 9))
_RECONNECT_SHARE = 0.3


class Clients:
    """The set of them. `counts` says what they did, `problems` what was not as it should be."""

    def __init__(self, url: str, n: int, seed: int) -> None:
        self.counts: Counter[str] = Counter()
        self.problems: list[str] = []
        self._url = url
        self._go = threading.Event()
        self._ending = threading.Event()
        self._parked = threading.Semaphore(0)
        self._threads = [threading.Thread(target=self._run, args=(seed * 1000 + k,), daemon=True) for k in range(n)]

    def start(self) -> None:
        """Begin; they are parked until `resume`."""
        for thread in self._threads:
            thread.start()
        self._wait_parked()

    def resume(self) -> None:
        """Let them work."""
        self._go.set()

    def park(self) -> None:
        """Have them finish what they do and close their connections; return when all have."""
        self._go.clear()
        self._wait_parked()

    def end(self) -> None:
        """Have them leave; they are parked."""
        self._ending.set()
        self._go.set()
        for thread in self._threads:
            thread.join(TIMEOUT_S)

    def _wait_parked(self) -> None:
        for _ in self._threads:
            if not self._parked.acquire(timeout=2 * TIMEOUT_S):
                raise Unavailable(f"a request has not ended within {2 * TIMEOUT_S:.0f} s")

    def _run(self, seed: int) -> None:
        draws = random.Random(seed)
        while True:
            self._parked.release()
            self._go.wait()
            if self._ending.is_set():
                return
            self._work(draws)

    def _work(self, draws: random.Random) -> None:
        """Make requests until the clients are to be parked."""
        connection = Connection(self._url, TIMEOUT_S)
        while self._go.is_set():
            if draws.random() < _RECONNECT_SHARE:
                connection.__exit__(None, None, None)
                connection = Connection(self._url, TIMEOUT_S)
                self.counts["fresh connections"] += 1
            kind = draws.choices([name for name, _ in _KINDS], [share for _, share in _KINDS])[0]
            try:
                left = self._request(connection, kind, draws)
            except (Unavailable, OSError, http.client.HTTPException) as error:
                self.problems.append(f"{kind}: {error!r}")
                left = True
            self.counts[kind] += 1
            if left:
                connection.__exit__(None, None, None)
                connection = Connection(self._url, TIMEOUT_S)
        connection.__exit__(None, None, None)

    def _request(self, connection: Connection, kind: str, draws: random.Random) -> bool:
        """Make one; return True where the connection cannot be used again."""
        if kind == "bad":
            body, expected = draws.choice(BAD_BODIES)
            answer = connection.post("/v1/audio/speech", body)
            answer.body()
            if answer.status != expected:
                self.problems.append(f"bad: {body} was answered with {answer.status}")
            return False
        fields = {"input": draws.choice(TEXTS), "response_format": draws.choice(("mp3", "wav", "pcm"))}
        wanted = {**fields, "stream": kind != "whole", "seed": draws.randrange(100)}
        answer = connection.post("/v1/audio/speech", wanted)
        if answer.status != 200:
            self.problems.append(f"{kind}: status {answer.status}")
        if kind == "leave early":
            return True
        chunks = answer.chunks()
        if kind == "leave late":
            with suppress(StopIteration):
                next(chunks)
            return True
        for _ in chunks:
            pass
        return False
