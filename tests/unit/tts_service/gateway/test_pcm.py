"""From float32 to 16 bits: clipped, rounded, resampled alike however the samples come."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.properties import property_settings
from tts_service.gateway.pcm import Float32, Int16, PcmStream, silence, to_int16

RATES = [(22050, 24000), (24000, 48000), (24000, 8000), (16000, 44100), (24000, 24000)]
NOISE: Float32 = np.random.default_rng(7).uniform(-1.2, 1.2, 6000).astype(np.float32)


def convert(pieces: list[Float32], rate_in_hz: int, rate_out_hz: int) -> Int16:
    stream = PcmStream(rate_in_hz, rate_out_hz)
    return np.concatenate([*map(stream.push, pieces), stream.finish()])


@pytest.mark.parametrize(
    ("sample", "value"),
    [
        (0.0, 0),
        (-0.0, 0),
        (1.0, 32767),
        (-1.0, -32767),
        (1.0001, 32767),
        (-1.0001, -32767),
        (1e30, 32767),
        (-1e30, -32767),
        (np.inf, 32767),
        (-np.inf, -32767),
        (0.4 / 32767, 0),
        (0.6 / 32767, 1),
        (-0.6 / 32767, -1),
        (32766.4 / 32767, 32766),
        (32766.6 / 32767, 32767),
    ],
)
def test_a_sample_is_clipped_and_then_rounded_and_never_wraps(sample: float, value: int) -> None:
    assert to_int16(np.array([sample], np.float32)).tolist() == [value]


def test_pcm_is_little_endian_sixteen_bits() -> None:
    pcm = to_int16(np.array([2 / 32767, -1.0], np.float32))
    assert pcm.tobytes() == b"\x02\x00\x01\x80"


@property_settings(200)
@given(st.lists(st.floats(-2, 2, width=32), max_size=50))
def test_every_sample_keeps_its_sign_and_is_off_by_half_a_step_at_most(values: list[float]) -> None:
    pcm = to_int16(np.array(values, np.float32))
    exact = np.clip(np.array(values, np.float64), -1, 1) * 32767
    # The product is rounded to float32, too, which is another 1/512 of a step.
    assert np.abs(pcm - exact).max(initial=0) <= 0.5 + 1 / 256


@pytest.mark.parametrize(("rate_in_hz", "rate_out_hz"), RATES)
@property_settings(40)
@given(st.lists(st.integers(0, len(NOISE)), max_size=12))
def test_the_result_does_not_depend_on_how_the_samples_are_cut(
    rate_in_hz: int, rate_out_hz: int, cuts: list[int]
) -> None:
    pieces = np.split(NOISE, sorted(cuts))
    whole = convert([NOISE], rate_in_hz, rate_out_hz)
    assert np.array_equal(convert(pieces, rate_in_hz, rate_out_hz), whole)


@pytest.mark.parametrize(("rate_in_hz", "rate_out_hz"), RATES)
def test_resampled_audio_is_as_long_as_it_was(rate_in_hz: int, rate_out_hz: int) -> None:
    assert len(convert([NOISE], rate_in_hz, rate_out_hz)) == round(len(NOISE) * rate_out_hz / rate_in_hz)


def test_a_tone_stays_the_same_tone() -> None:
    time_s = np.arange(22050) / 22050
    tone = (0.5 * np.sin(2 * np.pi * 440 * time_s)).astype(np.float32)
    pcm = convert([tone], 22050, 24000)
    spectrum = np.abs(np.fft.rfft(pcm * np.hanning(len(pcm))))
    assert spectrum.argmax() == 440
    assert np.abs(pcm[2000:-2000]).max() == pytest.approx(0.5 * 32767, rel=0.01)


def test_equal_rates_pass_samples_on_at_once() -> None:
    stream = PcmStream(24000, 24000)
    assert stream.push(np.array([0.5], np.float32)).tolist() == [16384]
    assert len(stream.finish()) == 0


@pytest.mark.parametrize(("rate_in_hz", "rate_out_hz"), RATES)
def test_no_samples_make_no_samples(rate_in_hz: int, rate_out_hz: int) -> None:
    assert convert([], rate_in_hz, rate_out_hz).tolist() == []
    assert convert([np.zeros(0, np.float32)], rate_in_hz, rate_out_hz).tolist() == []


@pytest.mark.parametrize(
    ("duration_s", "rate_hz", "n_samples"),
    [(0.0, 24000, 0), (0.25, 24000, 6000), (0.1, 22050, 2205), (0.00001, 24000, 0), (1 / 3, 22050, 7350)],
)
def test_a_pause_has_whole_samples(duration_s: float, rate_hz: int, n_samples: int) -> None:
    pause = silence(duration_s, rate_hz)
    assert (len(pause), pause.dtype.name) == (n_samples, "float32")
    assert not pause.any()
