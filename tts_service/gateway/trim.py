"""Takes the silence off both ends of an answer, while it streams. One object a request."""

from __future__ import annotations

import numpy as np

from tts_service.gateway.pcm import Int16

# -50 dB below full scale: below what voices put into their pauses, above the noise of their silence.
THRESHOLD = 104
# What is left at both ends, so that no onset is cut.
MARGIN_S = 0.02
# A longer silence in the middle is handed on before it is known whether it is the end.
LONGEST_S = 30.0


class Trim:
    """Drops leading and trailing samples quieter than THRESHOLD, but for a margin; the rest is untouched.

    Audio that is quiet throughout is left with one margin.
    """

    def __init__(self, rate_hz: int) -> None:
        self._margin = round(MARGIN_S * rate_hz)
        self._longest = round(LONGEST_S * rate_hz)
        self._held: Int16 = np.zeros(0, np.int16)
        self._started = False
        self.n_dropped = 0
        """Samples taken off the start, once anything has come out."""

    def push(self, pcm: Int16) -> Int16:
        """Return the samples that are known to stay."""
        joined = np.concatenate([self._held, pcm])
        # -32768 has no positive counterpart.
        loud = np.flatnonzero((joined >= THRESHOLD) | (joined <= -THRESHOLD))
        if not len(loud):
            return self._hold(joined)
        first = 0 if self._started else max(0, int(loud[0]) - self._margin)
        last = int(loud[-1]) + 1
        self.n_dropped += first
        self._started = True
        self._held = joined[last:]
        return joined[first:last]

    def finish(self) -> Int16:
        """Return the margin after the last sound."""
        held, self._held = self._held, self._held[:0]
        return held[: self._margin]

    def _hold(self, quiet: Int16) -> Int16:
        if not self._started:
            self._held = quiet[max(0, len(quiet) - self._margin) :]
            self.n_dropped += len(quiet) - len(self._held)
            return quiet[:0]
        keep = min(len(quiet), self._longest)
        self._held = quiet[len(quiet) - keep :]
        return quiet[: len(quiet) - keep]
