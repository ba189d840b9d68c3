"""The service inside a CPU set that is not its own choice."""

from __future__ import annotations

import os

import psutil
import pytest

from support.service import running
from tts_service.errors import ExitCode

pytestmark = pytest.mark.system


def test_cpu_05_the_service_stays_inside_the_cpus_it_is_given() -> None:
    allowed = sorted(os.sched_getaffinity(0))
    cpu = allowed[-1]
    wanted = f"0-{allowed[-1] + 2}"
    with running(prefix=("taskset", "-c", str(cpu)), env={"TTS_SERVICE_WORKERS_CPUS": wanted}) as service:
        assert service.pcm("On one processor only.")
        (worker,) = service.workers()
        assert worker["cpus"] == [cpu]
        for process in service.processes():
            for thread in psutil.Process(process.pid).threads():
                assert os.sched_getaffinity(thread.id) <= {cpu}
        log = service.text_of_log()
    assert "setaffinity" not in log
    assert "[E:onnxruntime" not in log


def test_cpu_05_cpus_that_are_not_there_are_one_clear_line() -> None:
    nowhere = str(max(os.sched_getaffinity(0)) + 1)
    with running("--engine", "tone", env={"TTS_SERVICE_WORKERS_CPUS": nowhere}) as service:
        assert service.process.wait(10) == ExitCode.CANNOT_START
        (line,) = service.text_of_log().splitlines()
        assert "workers.cpus" in line
        assert nowhere in line


@pytest.mark.parametrize("flags", [("--workers", "64"), ("--workers", "1", "--threads", "64")])
def test_more_threads_than_cpus_are_refused_before_anything_starts(flags: tuple[str, ...]) -> None:
    with running("--engine", "tone", *flags) as service:
        assert service.process.wait(10) == ExitCode.CANNOT_START
        (line,) = service.text_of_log().splitlines()
        assert "64" in line


def test_every_worker_has_cpus_of_its_own() -> None:
    n_cpus = len(os.sched_getaffinity(0))
    with running("--engine", "tone") as service:
        sets = [set(worker["cpus"]) for worker in service.workers()]
        for worker in service.workers():
            assert os.sched_getaffinity(worker["pid"]) == set(worker["cpus"])
            assert len(worker["cpus"]) == worker["threads"]
    assert sum(map(len, sets)) == len(set().union(*sets)) <= n_cpus
