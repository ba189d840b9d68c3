"""The memory that audio in flight may take in one gateway process. Shared by its request threads."""

from __future__ import annotations

import threading


class AudioBudget:
    """Counts bytes of float32 audio that has been asked for and not yet been handed over.

    The segment that a request's reader waits for is always let through, whatever the budget says, so that everybody
    gets on; only segments ahead of it are held back. The limit is so exceeded by at most one segment a request.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.n_bytes = 0
        self._lock = threading.Lock()

    def take(self, n_bytes: int, *, must: bool) -> bool:
        """Reserve room; return False where there is none, which cannot be when it `must`."""
        with self._lock:
            if not must and self.n_bytes + n_bytes > self.limit_bytes:
                return False
            self.n_bytes += n_bytes
            return True

    def give(self, n_bytes: int) -> None:
        """Give room back."""
        with self._lock:
            self.n_bytes -= n_bytes
