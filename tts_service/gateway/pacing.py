"""When each segment of a request is due. Pure; time is passed in. Times are monotonic seconds.

The first segment: arrival + the target for first audio. A later segment of a stream: the moment at which the listener
runs out of audio, which moves as real lengths become known. All segments of an answer in one piece: arrival + target +
its expected work × slack. A priority adds a constant, so that everything ages and nothing starves.
"""

from __future__ import annotations

from dataclasses import dataclass, field

# A deadline is told again only when it has moved by so much.
WORTH_TELLING_S = 0.25
BATCH_DELAY_S = 3600.0
PRIORITY_STEP_S = 5.0
BATCH = "batch"


def priority_delay_s(priority: int | str) -> float:
    """Return what a priority (-10 to 10, or "batch") adds to every deadline."""
    return BATCH_DELAY_S if isinstance(priority, str) else -PRIORITY_STEP_S * priority


@dataclass
class Pace:
    """The deadlines of one request."""

    arrived_s: float
    streamed: bool
    target_s: float
    """Time to first audio that is aimed at."""
    delay_s: float
    """What the priority adds."""
    work_s: float
    """Expected engine time of the whole text on one worker."""
    slack: float
    audio_s_per_char: float
    """Expected; replaced by this request's own as it is known."""
    _chars: list[int] = field(default_factory=list)
    _audio_s: list[float | None] = field(default_factory=list)
    _started_s: float | None = None
    _paused_s: float = 0.0
    _resuming: bool = False

    def add(self, n_chars: int) -> int:
        """Note the next segment; return its index."""
        self._chars.append(n_chars)
        self._audio_s.append(None)
        return len(self._chars) - 1

    def deadline_s(self, index: int) -> float:
        """Return when segment `index` is due."""
        if not self.streamed:
            return self.arrived_s + self.target_s + self.work_s * self.slack + self.delay_s
        if index == 0:
            return self.arrived_s + self.target_s + self.delay_s
        return self._start_s + sum(self._length_s(before) for before in range(index)) + self.delay_s

    def ended(self, index: int, audio_s: float) -> None:
        """Note how long a segment really is."""
        self._audio_s[index] = audio_s
        known = [
            (chars, length) for chars, length in zip(self._chars, self._audio_s, strict=True) if length is not None
        ]
        self.audio_s_per_char = sum(length for _, length in known) / max(1, sum(chars for chars, _ in known))

    def delivered(self, now: float, audio_s_before: float, *, waited: bool) -> float:
        """Note audio that is handed over; return for how long the listener had run dry, 0 where it had not.

        Only audio that had to be waited for can be late: a listener that takes its time has run dry of nothing.
        """
        if self._started_s is None:
            self._started_s = now
            return 0.0
        dry_s = now - (self._start_s + audio_s_before)
        if self._resuming:
            # Until then there was nothing to say.
            self._resuming = False
            self._paused_s += max(0.0, dry_s)
            return 0.0
        if not waited or dry_s <= 0:
            return 0.0
        # The listener's clock stood still meanwhile.
        self._paused_s += dry_s
        return dry_s

    def paused(self, now: float, audio_s_before: float) -> None:
        """Note that there was no text: the listener's clock stands still from when it has heard all there was."""
        if self._started_s is not None and (dry_s := now - (self._start_s + audio_s_before)) > 0:
            self._paused_s += dry_s
            self._resuming = True

    @property
    def _start_s(self) -> float:
        """When the listener started, as if it had never run dry."""
        started_s = self._started_s if self._started_s is not None else self.arrived_s + self.target_s
        return started_s + self._paused_s

    def _length_s(self, index: int) -> float:
        known = self._audio_s[index]
        return known if known is not None else self._chars[index] * self.audio_s_per_char
