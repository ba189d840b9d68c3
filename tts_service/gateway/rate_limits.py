"""How much each API key may ask for: requests a minute, and at a time. Used by request threads.

Each gateway process counts for itself: with several, a key gets up to as many times its limits.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from tts_service.errors import Code, RequestFailed
from tts_service.gateway.api_keys import Owner

if TYPE_CHECKING:
    from limits.strategies import MovingWindowRateLimiter

# When a request in progress will end is not known.
IN_FLIGHT_RETRY_S = 1.0


class RateLimits:
    """Counts the requests of each key in and out."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._in_flight: Counter[str] = Counter()

    def enter(self, owner: Owner) -> None:
        """Count a request in; RequestFailed where it is one too many. A refused one counts for nothing."""
        with self._lock:
            n, most = self._in_flight[owner.name], owner.max_in_flight
            if most and n >= most:
                message = f"{n} requests of API key {owner.name} are in progress, its limit is {most}"
                raise RequestFailed(Code.RATE_LIMITED, message, retry_after_s=IN_FLIGHT_RETRY_S)
            if owner.requests_per_minute:
                self._check_rate(owner)
            self._in_flight[owner.name] += 1

    def leave(self, owner: Owner) -> None:
        """Count a request out."""
        with self._lock:
            self._in_flight[owner.name] -= 1

    @cached_property
    def _window(self) -> MovingWindowRateLimiter:
        # Where no key has such a limit, the package costs no memory, and its storage starts no thread to forget in.
        from limits.storage import MemoryStorage
        from limits.strategies import MovingWindowRateLimiter

        return MovingWindowRateLimiter(MemoryStorage())

    def _check_rate(self, owner: Owner) -> None:
        from limits import RateLimitItemPerMinute

        limit = RateLimitItemPerMinute(owner.requests_per_minute)
        if self._window.hit(limit, owner.name):
            return
        free_s = self._window.get_window_stats(limit, owner.name).reset_time - time.time()
        message = f"API key {owner.name} has had its {owner.requests_per_minute} requests of the last minute"
        raise RequestFailed(Code.RATE_LIMITED, message, retry_after_s=max(free_s, 1.0))
