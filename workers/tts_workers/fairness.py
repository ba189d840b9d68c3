"""Each client's share of a pool: who asks for more than its share waits behind who does not. Pure; time is passed in.

Start-time fair queueing (Goyal, Vin, Cheng: "Start-time Fair Queuing", 1996), with real time as the virtual clock: each
job of a client moves the client's own clock on by the time between two jobs at its fair rate, and is due no sooner than
that clock said before.
"""

from __future__ import annotations

# Clients whose clock real time has passed are forgotten once there are so many.
FORGET_ABOVE = 1000


class ClientShares:
    """The clocks of the clients."""

    def __init__(self) -> None:
        self._clocks: dict[str, float] = {}

    def charge(self, client: str, now: float, spacing_s: float) -> float:
        """Count one job of `client`; return its fair start: now, or later where the client is beyond its share."""
        start_s = self.start_s(client, now)
        self._clocks[client] = start_s + spacing_s
        if len(self._clocks) > FORGET_ABOVE:
            self._clocks = {name: clock for name, clock in self._clocks.items() if clock > now}
        return start_s

    def start_s(self, client: str, now: float) -> float:
        """Return the fair start of a job that `client` had now, without counting it."""
        return max(now, self._clocks.get(client, now))
