"""Makes speech faster or slower at its own pitch, where the engine cannot: FFmpeg's WSOLA. One object a request."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tts_service.gateway.ffmpeg import frame_of, load
from tts_service.gateway.pcm import Float32

# The filter drops audio beyond this tempo, and takes nothing below its inverse.
MAX_FACTOR = 2.0
# What the filter gets at a time: its rounding depends on where its input is cut (measured: at odd samples).
BLOCK = 480
# Silence that pushes the end of the audio out of the filter's windows.
TAIL_S = 0.2


class Stretch:
    """Changes the tempo of a stream by `factor`. The output does not depend on how the input is cut into pieces."""

    def __init__(self, rate_hz: int, factor: float) -> None:
        av = load()
        self._rate_hz = rate_hz
        self._factor = factor
        self._held: Float32 = np.zeros(0, np.float32)
        self._n_samples = 0
        self._n_passed = 0
        self._n_made = 0
        self._nothing_yet = (av.BlockingIOError, av.EOFError)
        self._graph = av.filter.Graph()
        self._graph.threads = 1
        last = self._graph.add_abuffer(
            sample_rate=rate_hz, format="fltp", layout="mono", time_base=Fraction(1, rate_hz)
        )
        for tempo in tempos(factor):
            step = self._graph.add("atempo", repr(tempo))
            last.link_to(step)
            last = step
        # It comes out as it went in.
        plain = self._graph.add("aformat", "sample_fmts=fltp")
        sink = self._graph.add("abuffersink")
        last.link_to(plain)
        plain.link_to(sink)
        self._graph.configure()

    def push(self, samples: Float32) -> Float32:
        """Return what can be made so far from (n,) samples."""
        self._n_samples += len(samples)
        return self._fed(samples)

    def finish(self) -> Float32:
        """Return what is still held; all that was returned then has the input's length over the factor."""
        tail = round(TAIL_S * max(1.0, self._factor) * self._rate_hz) // BLOCK * BLOCK + BLOCK - len(self._held)
        last = self._fed(np.zeros(tail, np.float32))
        missing = round(self._n_samples / self._factor) - (self._n_made - len(last))
        return last[:missing]

    def _fed(self, samples: Float32) -> Float32:
        joined = np.concatenate([self._held, samples])
        whole = len(joined) // BLOCK * BLOCK
        self._held = joined[whole:]
        parts = [self._pass(joined[start : start + BLOCK]) for start in range(0, whole, BLOCK)]
        return np.concatenate([self._held[:0], *parts])

    def _pass(self, block: Float32) -> Float32:
        frame = frame_of(block, self._rate_hz)
        frame.pts, frame.time_base = self._n_passed, Fraction(1, self._rate_hz)
        self._n_passed += BLOCK
        self._graph.push(frame)
        made = self._pulled()
        self._n_made += len(made)
        return made

    def _pulled(self) -> Float32:
        parts: list[Float32] = [np.zeros(0, np.float32)]
        while True:
            try:
                # A copy: the frame's memory goes with the frame.
                parts.append(self._graph.pull().to_ndarray()[0].copy())
            except self._nothing_yet:
                return np.concatenate(parts)


def tempos(factor: float) -> list[float]:
    """Return the tempos, each from 1 / MAX_FACTOR to MAX_FACTOR, that make `factor` together."""
    n = 1
    while not 1 / MAX_FACTOR <= factor ** (1 / n) <= MAX_FACTOR:
        n += 1
    return [factor ** (1 / n)] * n
