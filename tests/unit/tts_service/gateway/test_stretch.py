"""Tempo without the engine: length, pitch, and the same bytes however the audio comes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.properties import property_settings
from tts_service.gateway.finishing import Finishing
from tts_service.gateway.pcm import Float32
from tts_service.gateway.stretch import MAX_FACTOR, Stretch, tempos

RATE_HZ = 24000


def vowel(duration_s: float, hz: float = 150.0) -> Float32:
    seconds = np.arange(round(duration_s * RATE_HZ)) / RATE_HZ
    parts = [np.sin(2 * np.pi * hz * n * seconds) / n for n in range(1, 12)]
    return (0.3 * sum(parts) * (1 + 0.5 * np.sin(2 * np.pi * 3 * seconds))).astype(np.float32)


def stretched(samples: Float32, factor: float, cuts: list[int]) -> Float32:
    stretch = Stretch(RATE_HZ, factor)
    parts = [stretch.push(part) for part in np.split(samples, sorted(cuts))]
    return np.concatenate([*parts, stretch.finish()])


@pytest.mark.parametrize("factor", [0.25, 0.5, 0.9, 1.05, 1.5, 2.0, 4.0])
def test_the_length_is_that_of_the_input_over_the_factor(factor: float) -> None:
    samples = vowel(3.0)
    made = stretched(samples, factor, [])
    assert len(made) == round(len(samples) / factor)
    assert np.abs(made).max() < 1.5 * np.abs(samples).max()


@pytest.mark.parametrize("factor", [0.5, 1.5, 2.0])
def test_the_pitch_stays(factor: float) -> None:
    made = stretched(vowel(2.0), factor, [])
    spectrum = np.abs(np.fft.rfft(made[: RATE_HZ // 2] * np.hanning(RATE_HZ // 2)))
    assert spectrum[10:400].argmax() + 10 == pytest.approx(75, abs=2), "150 Hz, on a grid of 2 Hz"


@property_settings(20)
@given(st.lists(st.integers(0, 24000), max_size=8), st.sampled_from([0.5, 0.7, 1.3, 3.0]))
def test_the_samples_do_not_depend_on_how_they_come(cuts: list[int], factor: float) -> None:
    samples = vowel(1.0)
    assert np.array_equal(stretched(samples, factor, cuts), stretched(samples, factor, []))


@property_settings(100)
@given(st.floats(0.25 / 4, 16))
def test_each_step_is_one_that_drops_nothing(factor: float) -> None:
    steps = tempos(factor)
    assert math.prod(steps) == pytest.approx(factor)
    assert all(1 / MAX_FACTOR - 1e-9 <= step <= MAX_FACTOR + 1e-9 for step in steps)


def test_no_audio_stays_none() -> None:
    stretch = Stretch(RATE_HZ, 2.0)
    assert len(stretch.push(np.zeros(0, np.float32))) == len(stretch.finish()) == 0


def test_all_of_a_stretched_text_is_in_the_answer() -> None:
    """A burst at the very end is neither lost nor cut."""
    samples = np.concatenate([vowel(1.0), np.zeros(2400, np.float32), vowel(0.2)])
    finishing = Finishing(RATE_HZ, 48000, stretch=2.0)
    pcm = np.concatenate([*(finishing.push(part) for part in np.array_split(samples, 7)), finishing.finish()])
    loud = np.flatnonzero(np.abs(pcm) > 1000)
    assert len(pcm) == len(samples), "half the length at twice the rate"
    assert len(pcm) - loud[-1] < 0.02 * 48000
