"""When a worker counts as hung, and how its restarts are spaced."""

from __future__ import annotations

import pytest

from tts_service.protocol import Phase
from tts_service.settings import WorkerSettings
from tts_workers.limits import FIRST_BACKOFF_S, STARVED_FACTOR, backoff_s, is_hung, limit_s

SETTINGS = WorkerSettings(
    heartbeat_s=1.0, load_timeout_s=100.0, warm_up_timeout_s=50.0, prepare_timeout_s=20.0, step_timeout_s=10.0
)


@pytest.mark.parametrize(
    ("phase", "limit"),
    [
        (Phase.START, 100.0),
        (Phase.LOAD, 100.0),
        (Phase.WARM_UP, 50.0),
        (Phase.PREPARE, 20.0),
        (Phase.STEP, 10.0),
        (Phase.IDLE, 10.0),
    ],
)
def test_each_phase_has_its_own_limit(phase: Phase, limit: float) -> None:
    assert limit_s(phase, SETTINGS) == limit


@pytest.mark.parametrize("phase", list(Phase))
def test_every_phase_has_one(phase: Phase) -> None:
    assert limit_s(phase, WorkerSettings()) > 0


def test_an_idle_worker_may_miss_some_heartbeats_however_short_a_step_may_be() -> None:
    assert limit_s(Phase.IDLE, WorkerSettings(heartbeat_s=3.0, step_timeout_s=6.0)) == 15.0


@pytest.mark.parametrize(
    ("silent_s", "waited_s", "hung"),
    [
        (9.9, 0.0, False),
        (10.1, 0.0, True),
        (10.1, 0.2, False),
        (50.0, 39.0, True),
        (50.0, 41.0, False),
        # Nobody waits for ever.
        (10.0 * STARVED_FACTOR + 0.1, 10.0 * STARVED_FACTOR, True),
        (10.0 * STARVED_FACTOR - 0.1, 10.0 * STARVED_FACTOR - 0.1, False),
    ],
)
def test_waiting_for_a_cpu_is_not_hanging_but_has_its_end(silent_s: float, waited_s: float, hung: bool) -> None:
    assert is_hung(silent_s, waited_s, 10.0) is hung


def test_a_life_that_was_of_use_is_followed_by_the_next_at_once() -> None:
    assert backoff_s(0, 30.0) == 0.0


def test_fruitless_deaths_double_the_pause_up_to_the_longest() -> None:
    pauses = [backoff_s(n, 30.0) for n in range(1, 10)]
    assert pauses == [FIRST_BACKOFF_S * 2**n for n in range(6)] + [30.0] * 3


def test_the_longest_pause_bounds_the_first_too() -> None:
    assert backoff_s(1, 0.0) == 0.0
    assert backoff_s(1, 0.1) == 0.1


def test_a_worker_that_never_came_up_in_months_has_a_pause_all_the_same() -> None:
    assert backoff_s(1_000_000, 30.0) == 30.0
