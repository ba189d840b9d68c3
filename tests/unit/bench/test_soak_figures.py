"""The soak's verdict: noise is no growth, and growth, zombies, files, deaths and failures are each found."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from tts_service.bench.scenario import About
from tts_service.bench.soak import SoakResult
from tts_service.bench.soak_figures import ProcessSample, Sample, slope_of, still_grows

MIB = 1 << 20
NOISE = np.random.default_rng(1).normal(0, 0.3, 60)


def result(growth_mib: float = 0.0, **changes: list[int]) -> SoakResult:
    """Return an hour of a worker with noisy memory; `changes` are series of its other figures."""
    samples = []
    for n in range(60):
        fields = {"threads": 3, "descriptors": 12, "sockets": 2} | {key: values[n] for key, values in changes.items()}
        pss = round((150 + growth_mib * n / 60 + NOISE[n]) * MIB)
        samples.append(Sample(60.0 * n, [ProcessSample(42, "tts-worker-0", pss, **fields)], [], []))
    return SoakResult(About("0", "3", "x", 2, ""), 60.0, 12, 4.0, 68, {"whole": 9}, [], samples)


def test_noise_is_no_fault() -> None:
    assert result().faults() == []
    (line,) = result().lines
    assert abs(line.slope_mib_h) < 3 * line.error_mib_h


def test_memory_that_surely_grows_is_found() -> None:
    (fault,) = result(growth_mib=12.0).faults()
    assert "memory grows by 1" in fault


@pytest.mark.parametrize("what", ["threads", "descriptors", "sockets"])
def test_a_number_that_still_grows_is_found(what: str) -> None:
    faults = result(**{what: [10 + n // 20 for n in range(60)]}).faults()
    assert f"the number of {what} still grows" in faults[-1]


def test_a_number_that_goes_up_and_down_does_not_grow() -> None:
    assert result(descriptors=[12 + n % 3 for n in range(60)]).faults() == []
    assert not still_grows([5, 7, 6, 7])
    assert still_grows([5, 6, 6, 7])


def test_a_worker_whose_threads_vary_is_found() -> None:
    assert result(threads=[3 + n % 2 for n in range(60)]).faults() == ["tts-worker-0, pid 42: 3 to 4 threads"]


def test_more_threads_than_settings_allow_are_found() -> None:
    assert "69 threads, 68 are the most" in "".join(result(threads=[69] * 60).faults())


def test_zombies_files_failures_and_deaths_are_found() -> None:
    whole = result()
    last = msgspec.structs.replace(whole.samples[-1], zombies=["sh, pid 7"], files=["x.wav"], processes=[])
    broken = msgspec.structs.replace(whole, samples=[*whole.samples[:-1], last], problems=["whole: status 500"])
    faults = "\n".join(broken.faults())
    for part in ("a zombie: sh, pid 7", "a temporary file: x.wav", "status 500", "did not live through it all"):
        assert part in faults


def test_the_slope_is_that_of_least_squares() -> None:
    times = np.arange(10.0)
    slope, error = slope_of(times, 2 * times + 1)
    assert (slope, error) == pytest.approx((2.0, 0.0), abs=1e-9)
