"""Tries a cut voice out: is it still the same voice, how far does each part look, how large is everything?

Runs in whatever process cuts the voice, once for each file; the sessions it makes are gone afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import ModelProto

from tts_workers.engines.ort import cpu_session
from tts_workers.engines.piper import cost
from tts_workers.engines.piper.graph import NotUnderstood
from tts_workers.engines.piper.surgery import BANK_SIZE, LATENTS, UPSAMPLED, Split
from tts_workers.engines.piper.synthesis import (
    BODY,
    ENCODER,
    TAIL,
    WHOLE,
    Facts,
    Floats,
    Prior,
    Run,
    Scales,
    decode,
    draws,
    encode,
    latents,
    speak_whole,
    text_inputs,
    upsample,
)
from tts_workers.engines.piper.windows import TILE_FRAMES, blocks, tiles

# onnxruntime rearranges a whole graph and its parts differently; 4e-5 was seen. A wrong cut differs by more than 1e-2.
UNTOUCHED_TOLERANCE = 2e-4
# Windows do the same sums: a third of a step of 16-bit audio. (Seen: no difference.)
WINDOW_TOLERANCE = 1e-5
# Frames of the trial, at least: what a part sees beyond half of them counts as "the whole text".
TRIAL_FRAMES = 256
LONGEST_MARGIN = 100


@dataclass(frozen=True)
class Trial:
    """What a voice is tried with."""

    ids: list[int]
    speaker: int


def try_whole(part: ModelProto, trial: Trial) -> None:
    """Raise NotUnderstood where a voice in one part does not make the same samples of the same draws."""
    run = _runner({WHOLE: part})
    inputs = text_inputs(trial.ids, Scales(0.5, 1.0, 0.5), trial.speaker)
    bank = draws(0, 0, (BANK_SIZE,))
    first, again = (speak_whole(run, inputs, bank) for _ in range(2))
    if not np.array_equal(first, again) or not len(first):
        raise NotUnderstood("it does not make the same samples of the same noise twice")


def examine(parts: Split, trial: Trial) -> Facts:
    """Return what is to be known about a cut voice. NotUnderstood where it does not sound like the uncut one."""
    run = _runner({ENCODER: parts.encoder, BODY: parts.body, TAIL: parts.tail})
    n_noise = _noise_channels(parts, trial)
    noise = draws(0, 0, (1, n_noise, len(trial.ids)))
    prior, scales = _long_enough(run, trial, noise)
    frame_noise = draws(0, 1, (prior.n_channels, prior.n_frames))
    z = latents(prior, scales.noise, frame_noise)
    untouched = _untouched(parts, trial, scales, noise, frame_noise)
    rate, hop = _sizes(run, z, untouched, trial.speaker)
    facts = Facts(
        noise_channels=n_noise,
        hop=hop,
        rate=rate,
        body_margin=_body_margin(run, z, rate, trial.speaker),
        tail_margin=_tail_margin(run, z, rate, hop, trial.speaker),
    )
    facts = _with_costs(facts, parts)
    together = _in_blocks(run, facts, z, prior.n_frames, trial.speaker)
    _compare(together, untouched, UNTOUCHED_TOLERANCE, "its parts put together differ from the whole")
    windowed = _in_blocks(run, facts, z, prior.n_frames // 3 + 1, trial.speaker)
    _compare(windowed, together, WINDOW_TOLERANCE, "its windows differ from one run")
    return facts


def _compare(one: Floats, other: Floats, tolerance: float, what: str) -> None:
    apart = float(np.abs(one - other).max())
    if not apart <= tolerance:
        raise NotUnderstood(f"{what} by {apart:.1e}")


def _runner(parts: Mapping[str, ModelProto]) -> Run:
    sessions = {name: cpu_session(part.SerializeToString(), 1) for name, part in parts.items()}
    inputs = {name: {value.name for value in session.get_inputs()} for name, session in sessions.items()}

    def run(name: str, feeds: Mapping[str, Any]) -> list[Any]:
        try:
            outputs: list[Any] = sessions[name].run(None, {key: feeds[key] for key in inputs[name]})
        except Exception as error:
            raise NotUnderstood(f"its {name} does not run: {str(error)[:200]}") from error
        return outputs

    return run


def _noise_channels(parts: Split, trial: Trial) -> int:
    if parts.noise_like is None:
        return 0
    feeds = text_inputs(trial.ids, Scales(0.5, 1.0, 0.5), trial.speaker)
    (like,) = _runner({ENCODER: parts.noise_like})(ENCODER, feeds)
    if like.ndim != 3 or like.shape[0] != 1 or like.shape[2] != len(trial.ids):
        raise NotUnderstood(f"the noise of its durations has the shape {like.shape}")
    return int(like.shape[1])


def _long_enough(run: Run, trial: Trial, noise: Floats) -> tuple[Prior, Scales]:
    """Return the prior of the trial's text, spoken so slowly that it has enough frames."""
    length = 1.0
    for _ in range(8):
        scales = Scales(0.5, length, 0.5)
        prior = encode(run, text_inputs(trial.ids, scales, trial.speaker), noise)
        if prior.n_frames >= TRIAL_FRAMES:
            return prior, scales
        length *= 2
    raise NotUnderstood(f"{len(trial.ids)} phonemes make {prior.n_frames} frames at a {length / 2:g}th of the speed")


def _untouched(parts: Split, trial: Trial, scales: Scales, noise: Floats, frame_noise: Floats) -> Floats:
    feeds = text_inputs(trial.ids, scales, trial.speaker)
    run = _runner({"untouched": parts.untouched})
    (audio,) = run("untouched", {**feeds, "@noise": noise, "@frame_noise": frame_noise[np.newaxis]})
    samples: Floats = audio.reshape(-1)
    return samples


def _sizes(run: Run, z: Floats, untouched: Floats, speaker: int) -> tuple[int, int]:
    """Return places and samples of a frame."""
    n_frames = z.shape[2]
    n_places = _body(run, z, speaker).shape[2]
    rate, hop = n_places // n_frames, len(untouched) // n_frames
    if rate * n_frames != n_places or hop * n_frames != len(untouched) or not rate or not hop or hop % rate:
        raise NotUnderstood(f"{n_frames} frames make {n_places} upsampled values and {len(untouched)} samples")
    return rate, hop


def _body(run: Run, z: Floats, speaker: int) -> Floats:
    n_frames = z.shape[2]
    mask, who = np.ones((1, 1, n_frames), np.float32), np.asarray([speaker], np.int64)
    values: Floats = run(BODY, {"@latents": z, "@mask": mask, "@speaker": who})[0]
    if values.ndim != 3:
        raise NotUnderstood(f"its upsampled values have the shape {values.shape}")
    return values


def _body_margin(run: Run, z: Floats, rate: int, speaker: int) -> int:
    """Return how many frames away a frame still changes something: one is changed, and what else changes is seen."""
    middle = TRIAL_FRAMES // 2
    before = z[:, :, :TRIAL_FRAMES].copy()
    after = before.copy()
    after[:, :, middle] += 1.0
    return _reach(
        _body(run, before, speaker), _body(run, after, speaker), middle, rate, "flow and decoder look", "frames"
    )


def _tail_margin(run: Run, z: Floats, rate: int, hop: int, speaker: int) -> int:
    """Return how many upsampled places away a place still changes a sample."""
    before = _body(run, z, speaker)[:, :, : TILE_FRAMES * rate].copy()
    middle = before.shape[2] // 2
    after = before.copy()
    after[:, :, middle] += 1.0
    who = np.asarray([speaker], np.int64)
    waves = [run(TAIL, {"@upsampled": values, "@speaker": who})[0].reshape(1, 1, -1) for values in (before, after)]
    return _reach(waves[0], waves[1], middle, hop // rate, "its last upsamplings look", "places")


def _reach(before: Floats, after: Floats, changed: int, per_place: int, what: str, unit: str) -> int:
    places = np.nonzero((before != after).any(axis=(0, 1)))[0] // per_place
    if not len(places):
        raise NotUnderstood(f"{what} past a change of its input")
    reach = int(max(changed - places[0], places[-1] - changed)) + 1
    if reach > LONGEST_MARGIN:
        raise NotUnderstood(f"{what} {reach} {unit} far: too far for windows")
    return reach


def _with_costs(facts: Facts, parts: Split) -> Facts:
    body = cost.macs_per_frame(parts.body, LATENTS, 1)
    tail = cost.macs_per_frame(parts.tail, UPSAMPLED, facts.rate)
    return cost.with_limits(facts, body, tail)


def _in_blocks(run: Run, facts: Facts, z: Floats, longest: int, speaker: int) -> Floats:
    n_frames = z.shape[2]
    pieces = []
    for block in blocks(n_frames, longest, streamed=False):
        upsampled = upsample(run, facts, z, block, speaker)
        pieces += [decode(run, facts, upsampled, tile, n_frames, speaker) for tile in tiles(block)]
    return np.concatenate(pieces)
