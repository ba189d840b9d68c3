"""The arithmetic of the throughput scenario."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from tts_service.bench.client_process import Timing
from tts_service.bench.cpu_reading import LocalCpu
from tts_service.bench.raw_loop import RawReport
from tts_service.bench.throughput_figures import RawRound, Round, figures, percentile, ratio


def one_round(concurrency: int = 8, wall_s: float = 2.0, **fields: object) -> Round:
    base = Round(
        concurrency=concurrency,
        wall_s=wall_s,
        audio_s=400.0,
        engine_cpu_s=3.0,
        client_cpu_s=0.1,
        timings=[Timing(0.1, 0.05), Timing(0.3, 0.07), Timing(9.0, 0.0, "status 503: full")],
    )
    return msgspec.structs.replace(base, **fields)


@pytest.mark.parametrize("percent", [0, 5, 50, 95, 99.9, 100])
@pytest.mark.parametrize("values", [[3.0], [5.0, 1.0], [4.0, 1.0, 3.0, 2.0, 2.0]])
def test_a_percentile_is_numpys(values: list[float], percent: float) -> None:
    assert percentile(values, percent) == pytest.approx(float(np.percentile(values, percent)))


def test_of_nothing_percentile_and_ratio_are_nothing() -> None:
    assert percentile([], 95) == 0.0
    assert ratio(3.0, 0.0) == 0.0
    assert ratio(3.0, 2.0) == 1.5


def test_a_line_holds_medians_over_rounds_and_percentiles_over_good_requests() -> None:
    (line,) = figures([one_round(wall_s=2.0), one_round(wall_s=4.0), one_round(wall_s=1.0)], [])
    assert (line.n_ok, line.n_failed) == (6, 3)
    assert line.audio_per_wall_s == 200.0
    assert line.cores == 1.5
    assert line.total_s == pytest.approx((0.2, 0.3))
    assert line.first_audio_s == pytest.approx((0.06, 0.07))
    assert (line.raw_ratio, line.raw_cpu_ratio) == (None, None)


def test_a_server_elsewhere_is_charged_for_its_engines_only() -> None:
    (line,) = figures([one_round()], [])
    assert line.audio_per_cpu_s == pytest.approx(400 / 3.0)
    assert line.cpu_ms == pytest.approx({"engine": 7.5, "client": 0.25})


def test_a_server_here_is_charged_for_all_its_processes() -> None:
    (line,) = figures([one_round(local_cpu=LocalCpu(workers_s=3.2, dispatcher_s=0.2, gateway_s=0.6))], [])
    assert line.audio_per_cpu_s == pytest.approx(100.0)
    assert line.cpu_ms == pytest.approx(
        {"engine": 7.5, "rest of workers": 0.5, "dispatcher": 0.5, "gateway": 1.5, "client": 0.25}
    )


def test_the_ratio_is_to_the_median_of_the_raw_rounds() -> None:
    raw = [RawRound([RawReport(100.0, wall_s, 0.9), RawReport(100.0, wall_s, 0.9)]) for wall_s in (1.0, 0.8, 5.0)]
    (line,) = figures([one_round()], raw)
    assert line.raw_ratio == pytest.approx(1.0)
    assert line.raw_cpu_ratio == pytest.approx((400 / 3.0) / (200 / 1.8))


def test_a_raw_process_that_ends_early_does_not_lower_the_limit() -> None:
    uneven = RawRound([RawReport(100.0, 1.0, 1.0), RawReport(50.0, 0.5, 0.5)])
    assert uneven.audio_per_wall_s == 200.0


def test_lines_come_in_the_order_of_their_concurrencies() -> None:
    found = figures([one_round(c) for c in (4, 1, 4, 1)], [])
    assert [line.concurrency for line in found] == [4, 1]


def test_cpu_time_is_what_was_used_between_two_readings() -> None:
    used = LocalCpu(3.0, 2.0, 1.5).since(LocalCpu(1.0, 0.5, 1.0))
    assert used == LocalCpu(2.0, 1.5, 0.5)
    assert used.total_s == 4.0
