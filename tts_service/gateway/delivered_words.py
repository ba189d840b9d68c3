"""When words are heard in the audio that a client gets: after tempo, trim and resampling, as its player decodes it.

One object a request, on its thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from tts_service.gateway.spoken_words import SpokenSegment
from tts_service.gateway.user_words import UserWord, UserWords


class TimedWord(msgspec.Struct, frozen=True):
    """A word of the request's text, and when it is heard."""

    text: Annotated[str, Meta(description="Characters start_char to end_char of input, as they are written there.")]
    start_char: Annotated[int, Meta(ge=0, description="Its first character, counted in Unicode code points.")]
    end_char: Annotated[int, Meta(ge=0, description="The one after its last.")]
    start_s: Annotated[float, Meta(ge=0, description="Seconds from the start of the audio.")]
    end_s: Annotated[float, Meta(ge=0)]


@dataclass(frozen=True)
class DeliveredWord:
    """A word with its place in the answer."""

    word: UserWord
    start_s: float
    end_s: float


class DeliveredWords:
    """Hands out the words of an answer in order, as its audio comes to their ends."""

    def __init__(self, text: str, scale: float, rate_hz: int, delay_samples: int, *, wordless: bool = False) -> None:
        self.text = text
        self._scale = scale
        """Samples of the answer for each of the engine's."""
        self._rate_hz = rate_hz
        """Of the answer."""
        self._delay_samples = delay_samples
        """What a decoder puts before the first sample."""
        self._words = UserWords(text, wordless=wordless)
        self._waiting: deque[UserWord] = deque()
        self._segments: list[SpokenSegment] = []
        self._n_dropped: Callable[[], int] = lambda: 0

    def follow(self, segments: list[SpokenSegment], n_dropped: Callable[[], int]) -> None:
        """Take the words from `segments`, which is emptied, and from `n_dropped` what was cut off the start."""
        self._segments, self._n_dropped = segments, n_dropped

    def reached(self, n_samples: int) -> list[DeliveredWord]:
        """Return the words that are over where `n_samples` samples have been delivered."""
        self._take()
        found: list[DeliveredWord] = []
        while self._waiting and self._place(self._waiting[0].end_sample) <= n_samples:
            found.append(self._delivered(self._waiting.popleft(), n_samples))
        return found

    def rest(self, n_samples: int) -> list[DeliveredWord]:
        """Return all that are left when the answer is over; none is longer than its audio."""
        self._take()
        self._waiting += self._words.finish()
        found = [self._delivered(word, n_samples) for word in self._waiting]
        self._waiting.clear()
        return found

    def seconds(self, n_samples: int) -> float:
        """Return when so many samples are over, in whole milliseconds."""
        return round((n_samples + self._delay_samples) / self._rate_hz, 3)

    def timed(self, found: DeliveredWord) -> TimedWord:
        """Return a word as clients get it."""
        start, end = found.word.start_char, found.word.end_char
        return TimedWord(self.text[start:end], start, end, found.start_s, found.end_s)

    def _take(self) -> None:
        for segment in self._segments:
            self._waiting += self._words.push(segment)
        # A book's would be many.
        self._segments.clear()

    def _place(self, sample: int) -> int:
        return max(0, round(sample * self._scale) - self._n_dropped())

    def _delivered(self, word: UserWord, n_samples: int) -> DeliveredWord:
        start = min(self._place(word.start_sample), n_samples)
        end = min(self._place(word.end_sample), n_samples)
        return DeliveredWord(word, self.seconds(start), self.seconds(end))
