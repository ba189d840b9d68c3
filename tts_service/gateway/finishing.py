"""From an engine's samples to the answer's PCM: tempo, sample rate, 16 bits, ends. One object a request."""

from __future__ import annotations

import time

import numpy as np

from tts_service.gateway.pcm import Float32, Int16, PcmStream
from tts_service.gateway.stretch import Stretch
from tts_service.gateway.trim import Trim
from tts_service.gateway.utterance import Utterance


class Finishing:
    """Converts a stream of samples. The output does not depend on how the input is cut into pieces."""

    def __init__(self, rate_in_hz: int, rate_out_hz: int, stretch: float = 1.0, trim: bool = False) -> None:
        self._stretch = Stretch(rate_in_hz, stretch) if stretch != 1.0 else None
        self._pcm = PcmStream(rate_in_hz, rate_out_hz)
        self._trim = Trim(rate_out_hz) if trim else None
        self.cpu_s = 0.0
        """CPU time of all this so far."""

    @classmethod
    def of(cls, utterance: Utterance) -> Finishing:
        """Return what a request asks for."""
        return cls(
            utterance.pool.engine.sample_rate_hz, utterance.sample_rate_hz, utterance.stretch, trim=utterance.trim
        )

    @property
    def n_dropped(self) -> int:
        """Samples that were taken off the start of the answer."""
        return self._trim.n_dropped if self._trim else 0

    def push(self, samples: Float32) -> Int16:
        """Return the PCM that can be made so far from `samples` (n,) float32 mono; (m,) int16, m may be 0."""
        started_s = time.thread_time()
        pcm = self._pcm.push(self._stretch.push(samples) if self._stretch else samples)
        pcm = self._trim.push(pcm) if self._trim else pcm
        self.cpu_s += time.thread_time() - started_s
        return pcm

    def finish(self) -> Int16:
        """Return what is still held, (m,) int16."""
        parts = [self._pcm.push(self._stretch.finish())] if self._stretch else []
        pcm = np.concatenate([*parts, self._pcm.finish()])
        return np.concatenate([self._trim.push(pcm), self._trim.finish()]) if self._trim else pcm
