"""The workers' half begins and ends: refusals, a second instance, an orderly end, a violent one."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from support.fake_gateway import FakeGateway
from support.samples import tone_samples
from support.service import engine_options, wait_until
from support.workers_half import Half, running_half
from tts_service.errors import Code, ExitCode
from tts_service.protocol import Done, Failed, Phase

pytestmark = pytest.mark.system

ONE_WORKER = ("--engine", "tone", "--workers", "1", "--slots", "1")
TEXT = "la " * 50
SLOW = "[[late amount=0.4 at=1]][[late amount=0.4 at=2]]" + TEXT


def start_in_vain(*flags: str) -> tuple[int, list[str]]:
    """Run a half that must refuse to start; return its exit code and what it wrote."""
    command = [sys.executable, "-m", "tts_service", "workers", *flags]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return ended.returncode, (ended.stdout + ended.stderr).splitlines()


def test_a_second_instance_on_the_same_directory_is_refused(half: Half) -> None:
    with FakeGateway(half.runtime_dir) as gateway:
        gateway.wait_warm()
        code, lines = start_in_vain("--engine", "tone", "--runtime-dir", str(half.runtime_dir))
        assert code == ExitCode.CANNOT_START
        (line,) = lines
        assert "another tts-service (workers" in line
        assert str(half.process.pid) in line
        assert isinstance(gateway.last(gateway.submit("Still here.")), Done)


def test_a_models_folder_that_is_missing_is_a_wrong_setting(tmp_path: Path) -> None:
    code, lines = start_in_vain("--engine", "tone", "--models", str(tmp_path / "none"), "--runtime-dir", str(tmp_path))
    assert code == ExitCode.BAD_SETTINGS
    (line,) = lines
    assert "pools.default.models" in line
    assert "expected a directory" in line


def test_more_threads_than_cpus_are_refused(tmp_path: Path) -> None:
    code, lines = start_in_vain("--engine", "tone", "--workers", "1000", "--runtime-dir", str(tmp_path))
    assert code == ExitCode.CANNOT_START
    (line,) = lines
    assert "1000" in line


def test_on_sigterm_running_jobs_finish_and_waiting_ones_are_handed_back() -> None:
    with running_half(*ONE_WORKER, env=engine_options(faults=True)) as half, FakeGateway(half.runtime_dir) as gateway:
        gateway.wait_warm()
        running, waiting = gateway.submit(SLOW), gateway.submit(TEXT)
        gateway.wait_for_audio(running)
        half.process.send_signal(signal.SIGTERM)
        gateway.wait(lambda: gateway.catalogue().draining, "the announcement")
        late = gateway.submit(TEXT)
        for key in (waiting, late):
            handed_back = gateway.last(key)
            assert isinstance(handed_back, Failed)
            assert handed_back.code == Code.DRAINING
        assert isinstance(gateway.last(running), Done)
        assert len(gateway.answers[running].samples) == tone_samples(TEXT)
        assert half.wait() == ExitCode.OK
        assert half.text_of_log().rstrip().endswith("stopped")


def test_what_does_not_finish_in_time_is_given_up() -> None:
    limits = {"TTS_SERVICE_WORKERS_DRAIN_TIMEOUT_S": "0.2"}
    hang = "[[hang at=0.5]]" + TEXT
    with (
        running_half(*ONE_WORKER, env=limits | engine_options(faults=True)) as half,
        FakeGateway(half.runtime_dir) as gateway,
    ):
        gateway.wait_warm()
        gateway.wait_for_audio(gateway.submit(hang))
        (worker,) = half.workers()
        # A second signal does not wait for the limit, and a hung worker is killed after its grace.
        half.process.send_signal(signal.SIGTERM)
        assert half.stop() == ExitCode.OK
        wait_until(lambda: not worker.is_running(), 5.0, "the worker's end")


def test_a_worker_that_is_still_loading_is_not_waited_for() -> None:
    with (
        running_half(*ONE_WORKER, env=engine_options(load_s=500)) as half,
        FakeGateway(half.runtime_dir) as gateway,
    ):
        gateway.hello()
        gateway.wait_for_worker(0, lambda worker: worker.phase == Phase.LOAD, "the load")
        assert half.stop() == ExitCode.OK
        assert "did not stop in time" not in half.text_of_log()


def test_a_killed_half_leaves_no_process_and_no_lock_behind() -> None:
    with running_half(*ONE_WORKER) as half:
        with FakeGateway(half.runtime_dir) as gateway:
            gateway.wait_warm()
            incarnation = gateway.status().incarnation
        workers = half.workers()
        assert len(workers) == 1
        assert half.stop(signal.SIGKILL) == -signal.SIGKILL
        _, alive = psutil.wait_procs(workers, timeout=10)
        assert alive == []
        with running_half(*ONE_WORKER, runtime_dir=half.runtime_dir), FakeGateway(half.runtime_dir) as gateway:
            gateway.wait_warm()
            assert isinstance(gateway.last(gateway.submit("Back again.")), Done)
            assert gateway.status().incarnation != incarnation
