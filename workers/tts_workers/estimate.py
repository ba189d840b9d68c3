"""How long work will take, learned from the segments that have been finished. Pure."""

from __future__ import annotations

# Weight of the newest segment in the running means.
_MEAN_WEIGHT = 0.1


class Estimate:
    """Running means of one pool's engine: what a character of text costs, and how long it sounds."""

    def __init__(self, work_s_per_char: float = 0.002, audio_s_per_char: float = 0.065) -> None:
        self.work_s_per_char = work_s_per_char
        self.audio_s_per_char = audio_s_per_char
        self._n_seen = 0

    def learn(self, n_chars: int, work_s: float, audio_s: float) -> None:
        """Take a finished segment into the means; the first ones count for more, as there is nothing else yet."""
        self._n_seen += 1
        weight = max(_MEAN_WEIGHT, 1 / self._n_seen)
        self.work_s_per_char += weight * (work_s / max(1, n_chars) - self.work_s_per_char)
        self.audio_s_per_char += weight * (audio_s / max(1, n_chars) - self.audio_s_per_char)

    def work_s(self, n_chars: int) -> float:
        """Return the engine time of a text of so many characters on one worker."""
        return n_chars * self.work_s_per_char
