"""What every encoder of an answer is: 16-bit mono PCM in, bytes out, piece by piece. One object a request."""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable

from tts_service.errors import RequestFailed
from tts_service.gateway.delivered_words import DeliveredWords
from tts_service.gateway.pcm import Int16


class Encoder(ABC):
    """One answer's encoder: `begin`, any number of `encode`, `end`."""

    def __init__(self, rate_hz: int) -> None:
        self.rate_hz = rate_hz
        self.spent_s = 0.0
        """Wall time of encoding so far."""
        self.cpu_s = 0.0
        """CPU time of encoding so far."""
        self.n_bytes = 0
        """Of coded audio so far."""

    max_samples = sys.maxsize
    """Longest audio that the format can hold when it says its length."""

    words: DeliveredWords | None = None
    """Where the answer says when its words are heard."""

    @property
    @abstractmethod
    def content_type(self) -> str:
        """The answer's Content-Type."""

    def begin(self, n_samples: int | None) -> bytes:
        """Return what comes before the audio; `n_samples` is its length where that is known.

        An answer in one piece asks for it when all of its audio is encoded, but for what `end` returns.
        """
        return b""

    def encode(self, pcm: Int16) -> bytes:
        """Return the coded form of `pcm` (n,), as far as it is complete."""
        return self._counted(lambda: self._code(pcm))

    def end(self) -> bytes:
        """Return what the encoder still holds."""
        return self._counted(self._flush)

    def whole(self, data: bytes) -> bytes:
        """Return the answer in one piece, from what `begin`, `encode` and `end` have returned."""
        return data

    def close(self) -> None:
        """Give back what the encoder holds, whether `end` was reached or not. May be called twice."""
        self._release()

    def failure(self, error: RequestFailed) -> bytes:
        """Return what tells the client that its stream has failed; b"" where only a broken connection can."""
        return b""

    def _code(self, pcm: Int16) -> bytes:
        return pcm.tobytes()

    def _flush(self) -> bytes:
        return b""

    def _release(self) -> None:
        return None

    def _counted(self, work: Callable[[], bytes]) -> bytes:
        started_s, cpu_started_s = time.perf_counter(), time.thread_time()
        data = work()
        self.spent_s += time.perf_counter() - started_s
        self.cpu_s += time.thread_time() - cpu_started_s
        self.n_bytes += len(data)
        return data
