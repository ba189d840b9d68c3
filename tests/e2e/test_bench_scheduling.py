"""Short forms of the scenarios that show what the scheduler promises: counts, bytes, and ratios within one run."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from support.benching import bench
from tts_service.bench.chaos import ChaosResult
from tts_service.bench.chaos_figures import wrong_answers
from tts_service.bench.leavers import LeaversResult
from tts_service.bench.longtext import LongtextResult
from tts_service.bench.mixed_load import MixResult
from tts_service.bench.overload import OverloadResult
from tts_service.errors import ExitCode

pytestmark = pytest.mark.system

# A step that waits takes the same time however busy the machine is.
STEADY = ("--step-cost", "0", "--step-wait", "0.01")


def test_killed_and_stopped_workers_and_a_killed_dispatcher_change_no_byte(tmp_path: Path) -> None:
    blows = ("--seconds", "3", "--kill-every", "0.7", "--stop-every", "1.4", "--dispatcher-kills", "1")
    clients = ("--streams", "4", "--downloads", "4", "--step-cost", "0.003")
    outcome = bench(tmp_path, "chaos", *blows, *clients)
    assert outcome.exit_code == ExitCode.OK, outcome.output + outcome.errors
    undisturbed, workers, dispatcher = msgspec.json.decode(outcome.json, type=ChaosResult).stages
    assert sorted(one.request for one in undisturbed.heard) == list(range(24)), "each of them once"
    assert workers.count("SIGKILL") >= 1
    assert len(dispatcher.blows) == 1
    assert dispatcher.in_flight(dispatcher.blows[0]) > 0
    assert wrong_answers([undisturbed, workers, dispatcher]) == []


def test_clients_that_leave_leave_nothing_behind(tmp_path: Path) -> None:
    png = tmp_path / "result.png"
    arguments = ("-n", "36", "--seconds", "1", "--step-cost", "0.005", "--max-empty", "10", "--png", str(png))
    outcome = bench(tmp_path, "leavers", *arguments)
    assert outcome.exit_code == ExitCode.OK, outcome.output + outcome.errors
    result = msgspec.json.decode(outcome.json, type=LeaversResult)
    assert len(result.left) == 36
    assert [member.name for member in result.before] == [member.name for member in result.after]
    assert len(result.before) >= 5
    assert png.read_bytes().startswith(b"\x89PNG")


def test_a_broken_promise_ends_with_its_own_exit_code_and_the_audio_does_not_depend_on_the_workers(
    tmp_path: Path,
) -> None:
    outcome = bench(tmp_path, "longtext", "-n", "1", *STEADY, "--max-ratio", "0.01")
    assert outcome.exit_code == ExitCode.FAILED, outcome.output + outcome.errors
    assert "FAILED: 2 workers, streamed: takes" in outcome.output
    result = msgspec.json.decode(outcome.json, type=LongtextResult)
    assert "the audio depends" not in " ".join(result.faults())
    ratios = [result.ratio_of(speed) for speed in result.speeds if speed.n_workers == 2]
    assert len(ratios) == 2
    assert max(ratios) < 0.9


def test_over_capacity_some_are_refused_at_once_and_the_others_are_answered(tmp_path: Path) -> None:
    arguments = ("--seconds", "1", "--capacity-requests", "12", "--max-wait", "0.3")
    outcome = bench(tmp_path, "overload", *STEADY, *arguments)
    # Latencies are for a machine that has nothing else to do: the exit code may be either.
    result = msgspec.json.decode(outcome.json, type=OverloadResult)
    _, over, _ = result.stretches
    assert over.refused
    assert over.admitted
    assert all(int(one.retry_after) >= 1 and one.should_retry == "true" for one in over.refused)
    assert [one.problem for one in over.admitted if one.problem] == []
    assert over.refusal_s(50) < over.first_audio_s(50)
    assert [fault for fault in result.faults() if "grew" in fault] == []


def test_one_liners_beside_a_book_are_heard_sooner_by_deadline_than_by_requests(tmp_path: Path) -> None:
    arguments = (
        "--seconds",
        "1",
        "--rounds",
        "1",
        "--patience",
        "0.5",
        "--capacity-requests",
        "12",
        "--min-gain",
        "1",
        "--book-sentences",
        "120",
    )
    outcome = bench(tmp_path, "mix", *STEADY, *arguments, "--order", "deadline", "--order", "requests")
    result = msgspec.json.decode(outcome.json, type=MixResult)
    lines = {(line.order, line.with_book): line for line in result.lines}
    assert len(lines) == 4
    assert [problem for line in lines.values() for problem in line.problems] == []
    assert 2 * lines["deadline", True].p50_s < lines["requests", True].p50_s
