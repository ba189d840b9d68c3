"""The busy meter's arithmetic, with fed numbers."""

from __future__ import annotations

import pytest

from tts_workers.busy import RECENT_BUSY_S, BusyMeter


def test_before_any_work_there_are_no_effective_cores() -> None:
    meter = BusyMeter()
    assert (meter.busy_s, meter.cpu_s, meter.effective_cores) == (0.0, 0.0, 0.0)


def test_effective_cores_are_cpu_time_over_wall_time() -> None:
    meter = BusyMeter()
    meter.add(1.0, 1.5)
    meter.add(1.0, 2.0)
    assert (meter.busy_s, meter.cpu_s) == (2.0, 3.5)
    assert meter.effective_cores == pytest.approx(1.75)


def test_only_the_recent_busy_time_counts() -> None:
    meter = BusyMeter()
    for _ in range(100):
        meter.add(0.5, 1.0)
    for _ in range(round(RECENT_BUSY_S / 0.5)):
        meter.add(0.5, 0.25)
    assert meter.effective_cores == pytest.approx(0.5)
    assert meter.busy_s == pytest.approx(55.0)
    assert meter.cpu_s == pytest.approx(102.5)


def test_one_piece_of_work_longer_than_the_window_counts_alone() -> None:
    meter = BusyMeter()
    meter.add(1.0, 2.0)
    meter.add(3 * RECENT_BUSY_S, 1.5 * RECENT_BUSY_S)
    assert meter.effective_cores == pytest.approx(0.5)


def test_work_that_takes_no_time_is_no_division_by_zero() -> None:
    meter = BusyMeter()
    meter.add(0.0, 0.0)
    assert meter.effective_cores == 0.0


def test_work_that_raises_is_counted_and_the_error_goes_on() -> None:
    meter = BusyMeter()
    with pytest.raises(ValueError, match="inside"), meter:
        raise ValueError("inside")
    assert meter.busy_s > 0.0


def test_idle_time_between_two_pieces_of_work_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    wall = iter([10.0, 11.0, 500.0, 501.0])
    cpu = iter([3.0, 4.0, 4.0, 5.0])
    monkeypatch.setattr("tts_workers.busy.time.monotonic", lambda: next(wall))
    monkeypatch.setattr("tts_workers.busy.time.process_time", lambda: next(cpu))
    meter = BusyMeter()
    for _ in range(2):
        with meter:
            pass
    assert meter.busy_s == pytest.approx(2.0)
    assert meter.effective_cores == pytest.approx(1.0)
