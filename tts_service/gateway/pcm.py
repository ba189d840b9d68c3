"""From an engine's float32 samples to the 16-bit PCM of the answer: resample, clip, round. One object a request."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import soxr

Float32 = npt.NDArray[np.float32]
Int16 = npt.NDArray[np.int16]

FULL_SCALE = 32767


class PcmStream:
    """Converts a stream of samples. The output does not depend on how the input is cut into pieces."""

    def __init__(self, rate_in_hz: int, rate_out_hz: int) -> None:
        self._resampler = (
            soxr.ResampleStream(rate_in_hz, rate_out_hz, 1, dtype="float32") if rate_in_hz != rate_out_hz else None
        )

    def push(self, samples: Float32) -> Int16:
        """Return the PCM that can be made so far from `samples` (n,) float32 mono; (m,) int16, m may be 0."""
        return to_int16(self._resampler.resample_chunk(samples) if self._resampler else samples)

    def finish(self) -> Int16:
        """Return what the resampler still holds, (m,) int16."""
        if self._resampler is None:
            return np.zeros(0, np.int16)
        return to_int16(self._resampler.resample_chunk(np.zeros(0, np.float32), last=True))


def to_int16(samples: Float32) -> Int16:
    """Return (n,) float32 in [-1, 1] as int16: clipped, then rounded. Plain conversion would wrap around."""
    scaled = samples * np.float32(FULL_SCALE)
    np.clip(scaled, -FULL_SCALE, FULL_SCALE, out=scaled)
    np.rint(scaled, out=scaled)
    pcm: Int16 = scaled.astype("<i2")
    return pcm


def silence(duration_s: float, rate_hz: float) -> Float32:
    """Return a pause in whole samples, (n,) float32."""
    return np.zeros(round(duration_s * rate_hz), np.float32)
