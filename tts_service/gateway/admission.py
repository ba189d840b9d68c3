"""How many speech requests one gateway process has in progress, and the limit. Shared by its request threads."""

from __future__ import annotations

import threading

from tts_service.errors import Code, RequestFailed


class Admission:
    """Counts requests in and out. The limit is below the number of threads, so that other routes find one."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.n_inside = 0
        self._lock = threading.Lock()

    def enter(self) -> None:
        """Take a place; RequestFailed at once when there is none."""
        with self._lock:
            if self.n_inside >= self.limit:
                message = f"{self.n_inside} speech requests are in progress, the limit is {self.limit}"
                raise RequestFailed(Code.TOO_MANY_REQUESTS, message, retry_after_s=1.0)
            self.n_inside += 1

    def leave(self) -> None:
        """Give the place back."""
        with self._lock:
            self.n_inside -= 1
