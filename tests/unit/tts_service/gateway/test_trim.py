"""Silence off the ends, in whole samples, and nothing else."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.properties import property_settings
from tts_service.gateway.pcm import Int16
from tts_service.gateway.trim import LONGEST_S, MARGIN_S, THRESHOLD, Trim

RATE_HZ = 1000
MARGIN = round(MARGIN_S * RATE_HZ)
LONGEST = round(LONGEST_S * RATE_HZ)


def trimmed(pcm: Int16, cuts: list[int]) -> tuple[Int16, int]:
    trim = Trim(RATE_HZ)
    parts = [trim.push(part) for part in np.split(pcm, sorted(cuts))]
    return np.concatenate([*parts, trim.finish()]), trim.n_dropped


def audio(before: int, middle: list[int], after: int) -> Int16:
    """Return quiet noise, sounds with pauses between them, quiet noise."""
    noise = np.random.default_rng(1).integers(-THRESHOLD + 1, THRESHOLD, before + sum(middle) + after)
    pcm: Int16 = noise.astype(np.int16)
    start = before
    for n, length in enumerate(middle):
        if n % 2 == 0:
            pcm[start : start + length] = 5000
        start += length
    return pcm


@property_settings(150)
@given(
    st.integers(0, 300),
    st.lists(st.integers(1, 120), min_size=1, max_size=5).filter(lambda lengths: len(lengths) % 2 == 1),
    st.integers(0, 300),
    st.lists(st.integers(0, 400), max_size=6),
)
def test_what_is_left_is_the_sound_and_a_margin_however_it_comes(
    before: int, middle: list[int], after: int, cuts: list[int]
) -> None:
    pcm = audio(before, middle, after)
    first, last = max(0, before - MARGIN), len(pcm) - max(0, after - MARGIN)
    left, n_dropped = trimmed(pcm, [min(cut, len(pcm)) for cut in cuts])
    assert np.array_equal(left, pcm[first:last])
    assert n_dropped == first


def test_the_lowest_sample_there_is_counts_as_loud() -> None:
    pcm = np.zeros(500, np.int16)
    pcm[250] = -32768
    assert len(trimmed(pcm, [100])[0]) == 2 * MARGIN + 1


def test_audio_that_is_quiet_throughout_leaves_one_margin() -> None:
    left, _ = trimmed(audio(0, [0], 900), [10, 300, 301])
    assert len(left) == MARGIN


def test_no_more_than_the_longest_silence_is_held() -> None:
    trim = Trim(RATE_HZ)
    trim.push(np.full(10, 5000, np.int16))
    passed = sum(len(trim.push(np.zeros(1000, np.int16))) for _ in range(100))
    assert passed == 100_000 - LONGEST
    assert len(trim.push(np.full(1, 5000, np.int16))) == LONGEST + 1
