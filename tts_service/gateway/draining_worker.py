"""gunicorn's threaded worker, which refuses connections while it stops. Runs on the gateway process's main thread."""

from __future__ import annotations

import os
import time
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

from tts_service.notify import Notifier


class DrainingWorker(ThreadWorker):  # type: ignore[misc]
    """Closes its listener as soon as it is told to stop.

    gunicorn's own worker only stops accepting, and keeps the socket open until its last answer is over: the kernel goes
    on completing connections that nobody accepts, which hang for that long and are reset in the end.
    """

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        self._notifier = Notifier.from_environment(os.environ, keep=True)

    def notify(self) -> None:
        """Called by gunicorn's loop at every turn: the arbiter hears that it goes on, and so does a service manager."""
        super().notify()
        self._notifier.feed(time.monotonic())

    def set_accept_enabled(self, enabled: bool) -> None:
        """Called by gunicorn's loop; the last time, with False, when the worker is to stop."""
        if not enabled and not self.alive:
            self._take_what_waits()
        super().set_accept_enabled(enabled)
        if not enabled and not self.alive:
            for listener in self.sockets:
                listener.close()

    def _take_what_waits(self) -> None:
        """Accept the connections that the kernel has completed already; their requests are answered."""
        if not self._accepting:
            return
        for listener in self.sockets:
            n_before = -1
            while n_before != self.nr_conns:
                n_before = self.nr_conns
                self.accept(listener)
