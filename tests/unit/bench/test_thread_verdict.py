"""The verdict of the threads drill on made-up readings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from support.readings import healthy, reading, together
from tts_service.bench.readings import Reading
from tts_service.bench.thread_verdict import Limits, WorkerVerdict, judge, rolling_cores


def series(n: int, after: Callable[[int], dict[str, Any]]) -> list[Reading]:
    """Return a worker's readings; `after` says what connection n does to it."""
    readings = [reading(0)]
    for number in range(1, n + 1):
        readings.append(reading(number, before=readings[-1], **after(number)))
    return readings


def verdict(readings: list[Reading], **limits: float) -> WorkerVerdict:
    (found,) = judge(readings, Limits(**limits))
    return found


def test_a_worker_that_stays_the_same_holds() -> None:
    found = verdict(healthy(100))
    assert (found.outcome, found.faults) == ("holds", [])
    assert found.threads == (3, 3)
    assert found.switches == pytest.approx((3.0, 3.0))
    assert found.cores == pytest.approx((1.0, 1.0))
    assert found.audio_s == 500.0


def test_one_more_thread_after_the_last_connection_than_after_the_first_is_a_fault() -> None:
    found = verdict(series(100, lambda n: {"threads": 3 + (n == 100)}))
    assert found.outcome == "FAILED"
    assert found.faults == ["3 live threads after connection 1, 4 after connection 100"]


def test_threads_made_by_the_first_connection_are_the_baseline() -> None:
    readings = series(20, lambda n: {"threads": 4})
    assert readings[0].workers[0].live_threads == 3
    assert verdict(readings).outcome == "holds"


def test_fewer_threads_than_after_the_first_connection_are_a_fault_too() -> None:
    assert "live threads" in verdict(series(10, lambda n: {"threads": 5 if n < 5 else 4})).faults[0]


def test_switches_that_grow_are_a_fault() -> None:
    found = verdict(series(15, lambda n: {"switches_per_audio_s": 2.0 if n == 1 else 3000.0}))
    assert found.faults == ["voluntary switches per second of audio grew from 2.0 to 3000.0"]


@pytest.mark.parametrize(
    ("first", "last", "is_fault"),
    [(2, 90, False), (2, 110, True), (300, 590, False), (300, 610, True), (3000, 40, False)],
)
def test_switches_may_double_and_few_switches_do_not_count(first: int, last: int, is_fault: bool) -> None:
    found = verdict(series(40, lambda n: {"switches_per_audio_s": first if n <= 4 else last}))
    assert bool(found.faults) == is_fault


def test_cores_that_fall_are_a_fault_that_names_other_load_where_nothing_else_grew() -> None:
    found = verdict(series(100, lambda n: {"cores": 1.8 if n <= 10 else 0.97}))
    (fault,) = found.faults
    assert fault.startswith("effective cores fell from 1.80 to 0.97, a ratio of 0.54 where 0.95 is the least")
    assert "other load" in fault
    grown = verdict(series(100, lambda n: {"cores": 1.8 if n <= 10 else 0.97, "threads": n}))
    assert [fault for fault in grown.faults if fault.startswith("effective cores") and "other load" not in fault]


@pytest.mark.parametrize(("least", "outcome"), [(0.95, "FAILED"), (0.9, "holds"), (0.0, "holds")])
def test_the_least_ratio_of_cores_is_a_setting(least: float, outcome: str) -> None:
    readings = series(30, lambda n: {"cores": 1.0 if n <= 10 else 0.92})
    assert verdict(readings, cores_ratio=least).outcome == outcome


def test_cores_that_rise_are_no_fault() -> None:
    assert verdict(series(30, lambda n: {"cores": 0.7 if n <= 10 else 1.0})).outcome == "holds"


def test_a_restarted_worker_is_reported_and_not_compared() -> None:
    found = verdict(series(20, lambda n: {"pid": 100 if n < 9 else 200, "threads": n}))
    assert (found.outcome, found.faults, found.threads) == ("restarted", [], None)


def test_a_worker_that_is_missing_from_a_reading_is_gone() -> None:
    readings = [*healthy(10)[:-1], Reading([])]
    assert verdict(readings).outcome == "gone"


def test_a_worker_without_work_is_idle() -> None:
    first = reading(0)
    assert verdict([first] * 11).outcome == "idle"


def test_each_worker_is_judged_for_itself() -> None:
    bad = series(20, lambda n: {"threads": n})
    good = healthy(20, index=1)
    outcomes = [one.outcome for one in judge([together(*pair) for pair in zip(bad, good, strict=True)], Limits())]
    assert outcomes == ["FAILED", "holds"]


def test_a_window_without_work_is_widened_until_it_has_some() -> None:
    readings = healthy(19)
    readings.append(readings[-1])
    assert verdict(readings).switches == pytest.approx((3.0, 3.0))


def test_a_worker_whose_work_is_all_in_the_middle_is_compared_by_its_threads_only() -> None:
    before = reading(0)
    middle = msgspec.structs.replace(before.workers[0], audio_seconds=5.0, busy_seconds=0.5, cpu_seconds=0.5)
    found = verdict([before] * 3 + [Reading([middle])] * 3)
    assert found.threads == (3, 3)
    assert verdict([before] * 10 + [Reading([middle])] * 10).outcome == "holds"


def test_rolling_cores_cover_the_last_connections_only() -> None:
    readings = series(30, lambda n: {"cores": 2.0 if n <= 10 else 1.0})
    values = rolling_cores([one.workers[0] for one in readings])
    assert len(values) == 30
    assert values[0] == pytest.approx(2.0)
    assert values[14] == pytest.approx(1.5)
    assert values[29] == pytest.approx(1.0)
    assert rolling_cores([readings[0].workers[0]] * 2) == [None]
