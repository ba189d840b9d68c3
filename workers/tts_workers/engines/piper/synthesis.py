"""From phoneme ids to samples, part by part. Pure, but for the network itself, which is passed in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from tts_workers.engines.base import Samples
from tts_workers.engines.piper.windows import Span

Floats = npt.NDArray[np.float32]
Run = Callable[[str, Mapping[str, Any]], list[Any]]
"""Runs a part, by name, on inputs, by name; returns its outputs in their order."""

ENCODER, BODY, TAIL, WHOLE = "encoder", "body", "tail", "whole"


class Facts(msgspec.Struct, frozen=True):
    """What was found out about a voice's graph when it was cut."""

    whole_because: str = ""
    """Why the voice runs whole; "" where it runs in parts. The other fields are those of voices in parts."""
    noise_channels: int = 0
    """Of the encoder's noise; 0 where it takes none."""
    hop: int = 0
    """Samples of a frame."""
    rate: int = 0
    """Places of the upsampled tensor for a frame; divides `hop`."""
    body_margin: int = 0
    """Frames on each side of a span that its upsampled values depend on."""
    tail_margin: int = 0
    """Upsampled places on each side of a span that its samples depend on."""
    longest_block: int = 0
    """Frames that the body runs on at most, without margins."""
    step_frames: int = 0
    """Frames that the tail makes in one step at most."""
    longest_step_s: float = 0.0


@dataclass(frozen=True)
class Scales:
    """How a voice speaks."""

    noise: float
    length: float
    duration_noise: float

    def array(self) -> Floats:
        """Return them as graphs take them."""
        return np.asarray([self.noise, self.length, self.duration_noise], np.float32)


@dataclass(frozen=True)
class Prior:
    """What the encoder makes of the phonemes."""

    durations: npt.NDArray[np.int64]
    """Frames of each, (T,)."""
    mean: Floats
    """(T, C)."""
    log_deviation: Floats
    """(T, C)."""

    @property
    def n_frames(self) -> int:
        """All frames."""
        return int(self.durations.sum())

    @property
    def n_channels(self) -> int:
        """Of the latents."""
        return int(self.mean.shape[1])


def draws(seed: int, stream: int, shape: tuple[int, ...]) -> Floats:
    """Return standard normal noise that depends on seed and stream alone."""
    return np.random.Generator(np.random.Philox(key=[seed, stream])).standard_normal(shape, np.float32)


def text_inputs(ids: list[int], scales: Scales, speaker: int) -> dict[str, Any]:
    """Return the inputs that stand for what is to be said, and how."""
    return {
        "@ids": np.asarray([ids], np.int64),
        "@lengths": np.asarray([len(ids)], np.int64),
        "@scales": scales.array(),
        "@speaker": np.asarray([speaker], np.int64),
    }


def encode(run: Run, inputs: Mapping[str, Any], noise: Floats, speed: float = 1.0) -> Prior:
    """Run the encoder; `noise` is (1, noise_channels, T)."""
    durations, mean, log_deviation = run(ENCODER, {**inputs, "@noise": noise})
    if not np.isfinite(durations).all() or durations.min() < 0 or not durations.any():
        raise ValueError("the encoder gives durations that are none")
    return Prior(paced(durations.reshape(-1).astype(np.int64), speed), mean[0], log_deviation[0])


def paced(durations: npt.NDArray[np.int64], speed: float) -> npt.NDArray[np.int64]:
    """Return durations (T,) whose sums up to each phoneme are those of `durations`, divided by `speed`, rounded.

    A graph's own length scale rounds every phoneme up to whole frames: at 2 it is 1.6 times as fast.
    """
    if speed == 1.0:
        return durations
    ends = np.rint(np.cumsum(durations) / speed).astype(np.int64)
    return np.diff(ends, prepend=0)


def latents(prior: Prior, noise_scale: float, noise: Floats) -> Floats:
    """Return the latents (1, C, F) of a prior with `noise` (C, F)."""
    # In the graph's own order, so that roundings are the same.
    spread = np.repeat(np.exp(prior.log_deviation).T, prior.durations, axis=1)  # (C, F)
    spread *= noise
    spread *= np.float32(noise_scale)
    spread += np.repeat(prior.mean.T, prior.durations, axis=1)
    return spread[np.newaxis]


@dataclass(frozen=True)
class Upsampled:
    """The body's work on a span, with what the tail needs on either side."""

    values: Floats
    """(1, H, n)."""
    first: int
    """Place of the first value, counted from the text's start."""


def upsample(run: Run, facts: Facts, z: Floats, span: Span, speaker: int) -> Upsampled:
    """Run the body on a span of the latents `z` (1, C, F)."""
    n_frames = z.shape[2]
    tail_frames = -(-facts.tail_margin // facts.rate)
    kept = max(0, span[0] - tail_frames), min(n_frames, span[1] + tail_frames)
    read = max(0, kept[0] - facts.body_margin), min(n_frames, kept[1] + facts.body_margin)
    inputs = {
        "@latents": np.ascontiguousarray(z[:, :, read[0] : read[1]]),
        "@mask": np.ones((1, 1, read[1] - read[0]), np.float32),
        "@speaker": np.asarray([speaker], np.int64),
    }
    (values,) = run(BODY, inputs)
    first = (kept[0] - read[0]) * facts.rate
    return Upsampled(values[:, :, first : first + (kept[1] - kept[0]) * facts.rate], kept[0] * facts.rate)


def decode(run: Run, facts: Facts, upsampled: Upsampled, tile: Span, n_frames: int, speaker: int) -> Samples:
    """Run the tail on a tile of a text of `n_frames`; return its samples, (frames of the tile * hop,)."""
    first, last = tile[0] * facts.rate, tile[1] * facts.rate
    read = max(0, first - facts.tail_margin), min(n_frames * facts.rate, last + facts.tail_margin)
    values = upsampled.values[:, :, read[0] - upsampled.first : read[1] - upsampled.first]
    inputs = {"@upsampled": np.ascontiguousarray(values), "@speaker": np.asarray([speaker], np.int64)}
    samples = _mono(*run(TAIL, inputs))
    per_place = facts.hop // facts.rate
    return samples[(first - read[0]) * per_place :][: (last - first) * per_place]


def speak_whole(run: Run, inputs: Mapping[str, Any], bank: Floats) -> Samples:
    """Run a voice that could not be cut; `bank` holds the draws that its noise is read from."""
    return _mono(*run(WHOLE, {**inputs, "@noise": bank}))


def _mono(audio: Floats) -> Samples:
    # onnxruntime's Tanh goes beyond 1 in its last place.
    samples: Samples = np.clip(audio.reshape(-1), -1.0, 1.0)
    return samples
