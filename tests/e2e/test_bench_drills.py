"""The scheduler's scenarios in full length, with the verdict that each gives: for a machine that does nothing else."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from support.benching import bench
from tts_service.bench.chaos import ChaosResult
from tts_service.bench.chaos_figures import wrong_answers
from tts_service.bench.leavers import LeaversResult
from tts_service.errors import ExitCode

pytestmark = [pytest.mark.system, pytest.mark.drill, pytest.mark.timeout(1200)]

TIMEOUT_S = 1100.0


def test_two_minutes_of_killed_workers_and_three_killed_dispatchers_change_no_byte(tmp_path: Path) -> None:
    outcome = bench(tmp_path, "chaos", timeout_s=TIMEOUT_S)
    assert outcome.exit_code == ExitCode.OK, outcome.output + outcome.errors
    undisturbed, workers, dispatcher = msgspec.json.decode(outcome.json, type=ChaosResult).stages
    assert len({one.caller for one in workers.heard}) == 32
    assert workers.count("SIGKILL") >= 20
    assert workers.count("SIGSTOP") >= 2
    assert len(dispatcher.blows) == 3
    assert all(dispatcher.in_flight(blow) > 0 for blow in dispatcher.blows)
    assert wrong_answers([undisturbed, workers, dispatcher]) == []


def test_two_hundred_clients_that_leave_leave_nothing_behind(tmp_path: Path) -> None:
    outcome = bench(tmp_path, "leavers", timeout_s=TIMEOUT_S)
    assert outcome.exit_code == ExitCode.OK, outcome.output + outcome.errors
    assert len(msgspec.json.decode(outcome.json, type=LeaversResult).left) == 200


@pytest.mark.parametrize("scenario", ["overload", "mix", "longtext"])
def test_the_scenario_holds_in_full_length(scenario: str, tmp_path: Path) -> None:
    outcome = bench(tmp_path, scenario, timeout_s=TIMEOUT_S)
    assert outcome.exit_code == ExitCode.OK, outcome.output + outcome.errors
