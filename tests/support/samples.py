"""Measures of audio for end-to-end checks: what is in an answer's samples, and is it whole."""

from __future__ import annotations

import io

import numpy as np
import soundfile
from numpy.typing import NDArray

Float32 = NDArray[np.float32]

WAV_HEADER_BYTES = 44
BLOCK_S = 0.02
# Of the tone engine: seconds of audio for one character of a segment.
TONE_SECONDS_PER_CHAR = 0.06


def decode(body: bytes) -> tuple[Float32, int]:
    """Return the samples (n,) in [-1, 1] and the rate of a wav or mp3 file."""
    samples, rate_hz = soundfile.read(io.BytesIO(body), dtype="float32")
    assert samples.ndim == 1, "the audio is not mono"
    return samples, rate_hz


def from_pcm(pcm: bytes) -> Float32:
    """Return raw 16-bit little-endian PCM as samples (n,) in [-1, 1]."""
    assert len(pcm) % 2 == 0, "half a sample"
    return np.frombuffer(pcm, "<i2").astype(np.float32) / 32768


def pcm_of_wav(body: bytes) -> bytes:
    """Return what follows the canonical header."""
    assert body[:4] == b"RIFF"
    assert body[36:40] == b"data"
    return body[WAV_HEADER_BYTES:]


def tone_samples(*segments: str, rate_hz: int = 24000, speed: float = 1.0) -> int:
    """Return how many samples the tone engine makes of these segments, at its own rate."""
    return sum(round(len(text) * TONE_SECONDS_PER_CHAR / speed * rate_hz) for text in segments)


def block_peaks_hz(samples: Float32, rate_hz: int) -> Float32:
    """Return the loudest frequency of each whole block of 20 ms, (n_blocks,), on a grid of 50 Hz."""
    size = round(BLOCK_S * rate_hz)
    blocks = samples[: len(samples) // size * size].reshape(-1, size)
    spectra = np.abs(np.fft.rfft(blocks, axis=1))  # (n_blocks, size / 2 + 1)
    return spectra.argmax(axis=1) / BLOCK_S


def level_db(samples: Float32) -> float:
    """Return the root mean square in dB below full scale."""
    power = float(np.mean(np.square(samples, dtype=np.float64))) if len(samples) else 0.0
    return 10 * np.log10(max(power, 1e-12))


def pauses_s(samples: Float32, rate_hz: int, below_db: float = -50.0) -> list[float]:
    """Return the lengths of all stretches whose blocks of 10 ms are quieter than `below_db`, in order."""
    size = rate_hz // 100
    blocks = samples[: len(samples) // size * size].reshape(-1, size)
    quiet = [level_db(block) < below_db for block in blocks]
    lengths, run = [], 0
    for is_quiet in [*quiet, False]:
        if is_quiet:
            run += 1
        elif run:
            lengths.append(run / 100)
            run = 0
    return lengths
