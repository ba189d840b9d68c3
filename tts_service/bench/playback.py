"""A listener's clock: when a player that plays audio as it comes would have run dry. Pure; time is passed in."""

from __future__ import annotations

# A gap that players bridge with what they hold in their output; shorter ones come from the client's own scheduling.
UNHEARD_S = 0.05


class Playback:
    """Starts with the first audio, stands still while there is none."""

    def __init__(self, bytes_per_s: float, unheard_s: float = UNHEARD_S) -> None:
        self.n_dry = 0
        """Times that it ran dry for longer than `unheard_s`."""
        self.dry_s = 0.0
        """For how long in all."""
        self._bytes_per_s = bytes_per_s
        self._unheard_s = unheard_s
        self._end_s: float | None = None
        """When what has come so far will have been played."""

    def heard(self, now: float, n_bytes: int) -> None:
        """Take audio that has just come."""
        if self._end_s is None:
            self._end_s = now
        elif (dry_s := now - self._end_s) > self._unheard_s:
            self.n_dry += 1
            self.dry_s += dry_s
            self._end_s = now
        self._end_s += n_bytes / self._bytes_per_s
