"""A synthesis process as its supervisor sees it, with real tiny processes in its place."""

from __future__ import annotations

import logging
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from support.service import wait_until
from tts_service.protocol import Phase
from tts_service.settings import WorkerSettings
from tts_workers import child as child_module
from tts_workers.child import Child
from tts_workers.limits import FIRST_BACKOFF_S, STARVED_FACTOR
from tts_workers.spec import THREAD_VARIABLES, WorkerSpec

pytestmark = pytest.mark.system

STEP_LIMIT_S = 4.0
SLEEPS = "exec sleep 60"
SETTINGS = WorkerSettings(heartbeat_s=1.0, step_timeout_s=STEP_LIMIT_S, load_timeout_s=40.0, backoff_max_s=30.0)
SPEC = WorkerSpec(
    index=0,
    incarnation=0,
    parent_pid=os.getpid(),
    endpoint="ipc:///run/x/workers.sock",
    pool="default",
    engine="tone",
    models="",
    options={},
    cpus=[0],
    n_threads=2,
    n_slots=2,
    heartbeat_s=1.0,
    log_level="info",
)

StartWith = Callable[[str], Child]


@pytest.fixture
def child() -> Iterator[Child]:
    """One that is certainly dead after the test."""
    child = Child(SPEC, SETTINGS)
    yield child
    if child.pid:
        child.kill("the test is over", "test")
        wait_for_end(child, 0.0)


@pytest.fixture
def start_with(child: Child, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> StartWith:
    """Starts the child with a shell script where the interpreter would be."""

    def start(script: str) -> Child:
        path = tmp_path / "interpreter"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o700)
        monkeypatch.setattr(sys, "executable", str(path))
        child.start(0.0)
        return child

    return start


def wait_for_end(child: Child, now: float) -> str:
    """Return the reason that `reap` gives, once it gives one."""
    reason: str = wait_until(lambda: child.reap(now), 10.0, "the end of the child")
    return reason


def die(child: Child, now: float) -> None:
    os.kill(child.pid, signal.SIGKILL)
    wait_for_end(child, now)


def test_before_its_first_start_there_is_no_process(child: Child) -> None:
    assert (child.pid, child.pidfd, child.state, child.restarts, child.is_ready) == (0, -1, "dead", 0, False)
    assert child.reap(0.0) is None
    child.look(1e6)
    child.kill("nothing to kill", "test")
    assert child.exits == {}


def test_it_is_started_in_a_fresh_interpreter_with_its_spec_and_its_thread_variables(
    start_with: StartWith, tmp_path: Path
) -> None:
    child = start_with(f"printf '%s\\n' \"$@\" >{tmp_path}/arguments; env >{tmp_path}/environment; {SLEEPS}")
    wait_until(lambda: psutil.Process(child.pid).name() == "sleep", 10.0, "the script")
    safe, module, name, spec = (tmp_path / "arguments").read_text().splitlines()
    assert (safe, module, name) == ("-P", "-m", "tts_workers.entry")
    assert WorkerSpec.from_json(spec) == child.spec
    environment = dict(line.split("=", 1) for line in (tmp_path / "environment").read_text().splitlines())
    assert {environment[variable] for variable in THREAD_VARIABLES} == {"1"}
    assert environment["TTS_WORKER_THREADS"] == "2"
    assert os.getsid(child.pid) == child.pid != os.getsid(0)


@pytest.mark.parametrize(
    ("script", "reason", "cause"),
    [
        ("exit 0", "exit code 0 (ok)", "exit_0"),
        ("exit 70", "exit code 70 (engine_broken)", "exit_70"),
        ("exit 3", "exit code 3", "exit_3"),
        ("kill -SEGV $$", "signal SIGSEGV", "signal_SIGSEGV"),
        ("kill -KILL $$", "signal SIGKILL", "signal_SIGKILL"),
        # A real-time signal, which has no name.
        ("kill -40 $$", "signal 40", "signal_40"),
    ],
)
def test_the_reason_of_an_end_is_told_in_words(start_with: StartWith, script: str, reason: str, cause: str) -> None:
    child = start_with(script)
    assert wait_for_end(child, 5.0) == reason
    assert (child.last_exit, child.exits) == (reason, {cause: 1})
    assert (child.pid, child.pidfd, child.state) == (0, -1, "dead")
    assert child.reap(6.0) is None


def test_a_living_process_is_not_reaped(start_with: StartWith) -> None:
    child = start_with(SLEEPS)
    assert child.reap(0.0) is None
    assert psutil.pid_exists(child.pid)


def test_its_end_wakes_a_poll_on_its_descriptor(start_with: StartWith) -> None:
    child = start_with(SLEEPS)
    poll = select.poll()
    poll.register(child.pidfd, select.POLLIN)
    assert poll.poll(0) == []
    os.kill(child.pid, signal.SIGKILL)
    assert poll.poll(10_000) == [(child.pidfd, select.POLLIN)]


def test_a_stopped_process_is_killed_all_the_same(start_with: StartWith) -> None:
    child = start_with(SLEEPS)
    os.kill(child.pid, signal.SIGSTOP)
    wait_until(lambda: psutil.Process(child.pid).status() == psutil.STATUS_STOPPED, 10.0, "the stop")
    child.kill("it was stopped", "hung")
    child.kill("a second reason", "other")
    assert wait_for_end(child, 0.0) == "it was stopped"
    assert (child.exit_status, child.exits) == (-signal.SIGKILL, {"hung": 1})


def test_descriptors_do_not_pile_up_over_many_lives(start_with: StartWith) -> None:
    child = start_with("exit 0")
    wait_for_end(child, 0.0)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        child.start(0.0)
        wait_for_end(child, 0.0)
    assert len(os.listdir("/proc/self/fd")) == before


def test_every_life_has_a_number_and_starts_afresh(start_with: StartWith) -> None:
    child = start_with(SLEEPS)
    child.heard(0.0, Phase.IDLE)
    child.report_faults(["affinity is 1, planned 0"])
    assert (child.restarts, child.spec.incarnation, child.state, child.is_ready) == (0, 1, "ready", True)
    die(child, 1.0)
    child.start(2.0)
    assert (child.restarts, child.spec.incarnation, child.state, child.is_ready) == (1, 2, "starting", False)
    assert child.faults == []
    die(child, 3.0)
    assert child.exits == {"signal_SIGKILL": 2}


@pytest.mark.parametrize(
    ("phase", "state"),
    [(Phase.LOAD, "loading"), (Phase.WARM_UP, "warming"), (Phase.IDLE, "ready"), (Phase.STEP, "ready")],
)
def test_its_state_follows_the_phases_it_tells(start_with: StartWith, phase: Phase, state: str) -> None:
    child = start_with(SLEEPS)
    assert child.state == "starting"
    child.heard(1.0, phase)
    child.heard(2.0)
    assert (child.state, child.phase) == (state, phase)


def was_killed(child: Child) -> bool:
    """Return True when `look` has decided against it."""
    return bool(child._killed_for)


def test_a_silent_process_is_killed_after_its_phases_limit(start_with: StartWith) -> None:
    child = start_with(SLEEPS)
    child.heard(100.0, Phase.STEP)
    child.look(100.0 + STEP_LIMIT_S - 0.1)
    assert not was_killed(child)
    child.look(100.0 + STEP_LIMIT_S + 0.1)
    assert wait_for_end(child, 105.0) == "hung in phase step, silent for 4.1 s"
    assert child.exits == {"hung": 1}


def test_a_load_may_take_longer_than_a_step(start_with: StartWith) -> None:
    child = start_with(SLEEPS)
    child.heard(100.0, Phase.LOAD)
    child.look(139.0)
    assert not was_killed(child)
    child.look(141.0)
    assert was_killed(child)


def test_a_process_that_never_says_a_word_is_killed_after_the_load_limit(start_with: StartWith) -> None:
    child = start_with(SLEEPS)
    child.look(39.0)
    assert not was_killed(child)
    child.look(41.0)
    assert was_killed(child)


def test_a_process_that_is_heard_is_left_alone(start_with: StartWith) -> None:
    child = start_with(SLEEPS)
    for now in range(0, 100, 3):
        child.heard(float(now), Phase.STEP)
        child.look(now + 2.9)
    assert not was_killed(child)


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The kernel's word on how long the process has waited for a CPU so far, to be set."""
    reading = [1000.0]
    monkeypatch.setattr(child_module.procfs, "waited_for_cpu_s", lambda pid: reading[0])
    return reading


def test_a_process_that_waits_for_a_cpu_is_spared(start_with: StartWith, waited: list[float]) -> None:
    child = start_with(SLEEPS)
    child.heard(0.0, Phase.STEP)
    child.look(0.5)
    waited[0] += 2.0
    child.look(STEP_LIMIT_S + 1.0)
    assert not was_killed(child)
    child.look(STEP_LIMIT_S + 2.1)
    assert was_killed(child)


def test_waits_before_its_last_word_do_not_count(start_with: StartWith, waited: list[float]) -> None:
    child = start_with(SLEEPS)
    child.heard(0.0, Phase.STEP)
    child.look(0.5)
    waited[0] += 500.0
    child.heard(3.0)
    child.look(3.5)
    child.look(3.0 + STEP_LIMIT_S + 0.1)
    assert was_killed(child)


def test_not_even_waiting_for_a_cpu_lasts_for_ever(start_with: StartWith, waited: list[float]) -> None:
    child = start_with(SLEEPS)
    child.heard(0.0, Phase.STEP)
    child.look(0.5)
    waited[0] += 1e6
    child.look(STARVED_FACTOR * STEP_LIMIT_S - 0.1)
    assert not was_killed(child)
    child.look(STARVED_FACTOR * STEP_LIMIT_S + 0.1)
    assert was_killed(child)


def test_only_lives_without_a_finished_segment_are_followed_by_a_pause(start_with: StartWith) -> None:
    child = start_with(SLEEPS)
    pauses = []
    for finished in (False, False, False, True, False):
        child.finished_a_segment = finished
        die(child, 10.0)
        pauses.append(child.start_at_s - 10.0)
        child.start(10.0)
    assert pauses == [FIRST_BACKOFF_S, 2 * FIRST_BACKOFF_S, 4 * FIRST_BACKOFF_S, 0.0, FIRST_BACKOFF_S]


@pytest.mark.parametrize(("finished", "pause_s"), [(True, 0.0), (False, 0.5)])
def test_an_end_that_was_expected_is_counted_as_such_and_paused_after_like_any_other(
    start_with: StartWith, finished: bool, pause_s: float
) -> None:
    # A limit below what the model needs would otherwise be a loop without a pause.
    child = start_with(SLEEPS)
    child.finished_a_segment = finished
    child.expect_end("memory")
    os.kill(child.pid, signal.SIGTERM)
    assert wait_for_end(child, 10.0) == "signal SIGTERM"
    assert (child.exits, child.start_at_s) == ({"memory": 1}, 10.0 + pause_s)


def test_differences_from_the_plan_are_said_once(start_with: StartWith, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    child = start_with(SLEEPS)
    for faults in ([], ["spinning"], ["spinning"], []):
        child.report_faults(faults)
    assert [record.levelname for record in caplog.records if "plan" in record.message] == ["ERROR", "INFO"]
