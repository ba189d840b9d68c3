"""What the chaos scenario holds against a server, and whom it may strike at."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from support.heard import heard
from support.json_server import serving
from tts_service.bench.chaos import DISPATCHER, UNDISTURBED, WORKERS, ChaosResult
from tts_service.bench.chaos_figures import Stage, wrong_answers
from tts_service.bench.havoc import Blow, Havoc
from tts_service.bench.scenario import About
from tts_service.bench.target import Server

CALM = Stage(UNDISTURBED, 50.0, [heard(request=0, digest="a"), heard(request=1, digest="b")])
KILLED = Blow(102.0, "worker 0", 7, "SIGKILL")


def workers_stage(*changes: dict[str, object], blows: list[Blow] | None = None) -> Stage:
    answers = [heard(**{"request": n % 2, "digest": "ab"[n % 2]} | change) for n, change in enumerate(changes or ({},))]
    return Stage(WORKERS, 100.0, answers, [KILLED] if blows is None else blows)


def result(*stages: Stage, dispatcher_kills: int = 0) -> ChaosResult:
    return ChaosResult(About.here(None), "some load", dispatcher_kills, [CALM, *stages])


def test_equal_bytes_throughout_hold() -> None:
    assert wrong_answers([CALM, workers_stage({}, {})]) == []
    assert result(workers_stage({}, {})).faults() == []


def test_other_bytes_than_undisturbed_are_wrong() -> None:
    (line,) = wrong_answers([CALM, workers_stage({"digest": "x", "n_bytes": 95998})])
    assert "request 0" in line
    assert "other bytes than undisturbed (95998 bytes, undisturbed 96000)" in line


def test_an_answer_that_failed_or_broke_off_is_wrong() -> None:
    stage = workers_stage({"status": 500, "problem": "status 500: oops"}, {"problem": "the answer broke off"})
    assert [line.partition(": ")[2] for line in wrong_answers([CALM, stage])] == [
        "status 500: oops", "the answer broke off",
    ]  # fmt: skip
    assert len(result(stage).faults()) == 2


def test_a_run_in_which_nothing_was_killed_has_shown_nothing() -> None:
    (fault,) = result(workers_stage(blows=[])).faults()
    assert "no worker was killed" in fault


def test_the_dispatcher_must_have_been_killed_as_often_as_asked_with_work_in_progress() -> None:
    blow = Blow(102.0, DISPATCHER, 7, "SIGKILL")
    busy = Stage("dispatcher 1", 100.0, [heard(digest="a", at_s=1.0, total_s=2.0)], [blow])
    idle = Stage("dispatcher 1", 100.0, [heard(digest="a", at_s=3.0, total_s=2.0)], [blow])
    assert result(workers_stage(), busy, dispatcher_kills=1).faults() == []
    (missing,) = result(workers_stage(), busy, dispatcher_kills=2).faults()
    assert "killed 1 times instead of 2" in missing
    (nothing,) = result(workers_stage(), idle, dispatcher_kills=1).faults()
    assert "while nothing was in progress" in nothing


def test_a_request_is_in_flight_from_its_start_to_its_end() -> None:
    stage = Stage("", 100.0, [heard(at_s=1.0, total_s=2.0), heard(at_s=2.5, total_s=1.0)])
    found = [stage.in_flight(Blow(100.0 + at_s, "worker 0", 7, "SIGKILL")) for at_s in (0.5, 1.5, 2.75, 3.2, 4.0)]
    assert found == [0, 1, 2, 1, 0]


@pytest.fixture
def sleeper() -> subprocess.Popen[bytes]:
    """A process of this test that is no child of the server in question."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process
    process.kill()
    process.wait()


def workers_answer(pid: int) -> bytes:
    worker = f'{{"index": 0, "pid": {pid}, "state": "ready"}}'
    return f'{{"workers": [{worker}], "dispatcher": {{"pid": {pid}}}}}'.encode()


def test_only_processes_below_the_own_server_are_struck_at(sleeper: subprocess.Popen[bytes]) -> None:
    with serving([(200, workers_answer(sleeper.pid))]) as server:
        # Process 1 of the machine is an ancestor, the sleeper itself has no children.
        stranger = Havoc(Server(server.url, sleeper.pid), seed=1)
        assert not stranger.kill_dispatcher()
        stranger.strike_workers(0.3, 0.1, 0.0)
        assert stranger.blows == []
        assert sleeper.poll() is None
        parent = Havoc(Server(server.url, os.getpid()), seed=1)
        assert parent.kill_dispatcher()
    assert sleeper.wait(10) == -signal.SIGKILL
    assert [(blow.target, blow.pid, blow.signal) for blow in parent.blows] == [(DISPATCHER, sleeper.pid, "SIGKILL")]
