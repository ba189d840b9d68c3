"""Whether the workers' half gets anywhere, which feeds the service manager's watchdog. Pure; time is passed in."""

from __future__ import annotations

from tts_service.settings import WorkerSettings
from tts_workers.dispatcher import Dispatcher


class Progress:
    """Remembers since when a pool has had no warm worker.

    A worker that hangs is replaced by its supervisor within the limits of its phase. Where a pool stays without a warm
    worker for longer than all those limits together, replacing workers does not help, and only a fresh start might.
    """

    def __init__(self, settings: WorkerSettings) -> None:
        self._limit_s = (
            settings.load_timeout_s
            + settings.warm_up_timeout_s
            + settings.backoff_max_s
            + max(settings.step_timeout_s, settings.prepare_timeout_s)
        )
        self._cold_since_s: dict[str, float] = {}

    def is_made(self, dispatcher: Dispatcher, now: float) -> bool:
        """Return False once a pool has been without a warm worker for longer than bringing one up may take."""
        for pool in dispatcher.pools.values():
            if any(worker.ready is not None for worker in pool.workers):
                self._cold_since_s.pop(pool.name, None)
            else:
                self._cold_since_s.setdefault(pool.name, now)
        return all(now - since_s <= self._limit_s for since_s in self._cold_since_s.values())
