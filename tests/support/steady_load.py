"""Clients that go on asking for the same text, whatever happens to the service meanwhile, and note every answer."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from support.service import Service, wait_until
from tts_service.errors import Unavailable

TEXT = "This is a sentence of the story. And here is one more of it! "


@dataclass
class Load:
    """What the clients have seen."""

    whole: list[bytes] = field(default_factory=list)
    """Bodies of complete answers with status 200."""
    failures: list[str] = field(default_factory=list)
    """Every other end of a request."""
    stopping: threading.Event = field(default_factory=threading.Event)

    def wait_for(self, n: int, timeout_s: float = 30.0) -> None:
        """Wait for this many more answers."""
        target = len(self.whole) + n
        wait_until(lambda: len(self.whole) >= target or self.failures, timeout_s, f"{n} more answers")


@contextmanager
def under_load(service: Service, n_clients: int = 3) -> Iterator[Load]:
    """Buffered requests from so many clients, each on a fresh connection, until the block ends; then all are over."""
    load = Load()

    def ask() -> None:
        while not load.stopping.is_set():
            try:
                answer, body = service.speak(TEXT, response_format="pcm", stream=False, seed=1)
            except (OSError, http.client.HTTPException, Unavailable) as error:
                load.failures.append(repr(error))
            else:
                if answer.status == 200:
                    load.whole.append(body)
                else:
                    load.failures.append(f"{answer.status} {body[:200]!r}")

    threads = [threading.Thread(target=ask) for _ in range(n_clients)]
    for thread in threads:
        thread.start()
    try:
        load.wait_for(n_clients)
        yield load
        load.wait_for(n_clients)
    finally:
        load.stopping.set()
        for thread in threads:
            thread.join()
