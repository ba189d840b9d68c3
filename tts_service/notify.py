"""Tells the service manager how this process is (sd_notify(3)). Used on the main thread of either half; else silent."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import MutableMapping

logger = logging.getLogger(__name__)

# What children must not inherit: they are not the process that the manager waits for.
VARIABLES = ("NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES")
# Fed so many times within the manager's limit: one late turn is no hang.
FEEDS_PER_LIMIT = 4
_US_PER_S = 1_000_000


class Notifier:
    """The line to the service manager, where there is one. Constructing it sends nothing."""

    def __init__(self, address: str = "", watchdog_s: float = 0.0) -> None:
        self.watchdog_s = watchdog_s
        """The manager ends a process that has not fed its watchdog for so long; 0 where it does not watch."""
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self._fed_s = float("-inf")

    @classmethod
    def from_environment(cls, environ: MutableMapping[str, str], *, keep: bool = False) -> Notifier:
        """Return the line that the environment names. The variables are taken out of it, but with `keep`."""
        watchdog = environ.get("WATCHDOG_USEC", "")
        # WATCHDOG_PID names another process where the variables were inherited by mistake.
        for_us = environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid()) or keep
        found = cls(environ.get("NOTIFY_SOCKET", ""), int(watchdog) / _US_PER_S if watchdog.isdigit() and for_us else 0)
        for name in () if keep else VARIABLES:
            environ.pop(name, None)
        return found

    def ready(self) -> None:
        """Say that the service is up; what is ordered after it may start."""
        self._send("READY=1")

    def stopping(self) -> None:
        """Say that the service has begun to end."""
        self._send("STOPPING=1")

    def status(self, text: str) -> None:
        """Show a line in `systemctl status`."""
        self._send(f"STATUS={text}")

    def feed(self, now: float) -> None:
        """Feed the watchdog, as often as it has to be. Call it where real progress is made, and nowhere else."""
        if self.watchdog_s and now - self._fed_s >= self.watchdog_s / FEEDS_PER_LIMIT:
            self._fed_s = now
            self._send("WATCHDOG=1")

    def _send(self, message: str) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as line:
                line.connect(self._address)
                line.send(message.encode())
        except OSError as error:
            # The manager notices by itself that nothing comes; serving goes on.
            logger.warning("cannot tell the service manager %r: %s", message, error)
