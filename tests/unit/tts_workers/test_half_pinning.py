"""Workers run where the plan says, every thread of them, with every thread-count variable set from the start."""

from __future__ import annotations

import os
from collections.abc import Iterator

import psutil
import pytest

from support.fake_gateway import FakeGateway
from support.workers_half import Half, running_half
from tts_service import procfs
from tts_service.protocol import Done, Status
from tts_workers.spec import FIXED_VARIABLES, THREAD_VARIABLES

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def hibari() -> Iterator[Half]:
    """The default half: the embedded voice, as many workers as fit."""
    with running_half() as half:
        yield half


@pytest.fixture(scope="module")
def status(hibari: Half) -> Status:
    """Its state, once every worker is warm and has spoken."""
    with FakeGateway(hibari.runtime_dir) as gateway:
        gateway.wait_warm()
        n = len(gateway.status().workers)
        for key in [gateway.submit("Good morning.", voice="heart") for _ in range(2 * n)]:
            assert isinstance(gateway.last(key), Done)
        return gateway.status()


def test_workers_have_cpus_of_their_own_among_the_allowed_ones(status: Status) -> None:
    allowed = os.sched_getaffinity(0)
    used = [cpu for worker in status.workers for cpu in worker.cpus]
    assert len(used) == len(set(used)) > 0
    assert set(used) <= allowed
    assert all(len(worker.cpus) == worker.threads for worker in status.workers)


def test_every_thread_of_a_worker_is_on_the_workers_cpus_from_the_first_import_on(status: Status) -> None:
    for worker in status.workers:
        # Threads inherit the affinity of the one that makes them: numpy's, onnxruntime's and ZeroMQ's were all made
        # after it was set, or one of them would have more.
        affinities = procfs.affinities(worker.pid)
        assert len(affinities) >= 3
        assert set(affinities.values()) == {frozenset(worker.cpus)}
        assert worker.faults == []


def test_every_thread_count_variable_is_set(status: Status) -> None:
    for worker in status.workers:
        environment = psutil.Process(worker.pid).environ()
        assert {name: environment.get(name) for name in THREAD_VARIABLES} == dict.fromkeys(THREAD_VARIABLES, "1")
        assert {name: environment.get(name) for name in FIXED_VARIABLES} == FIXED_VARIABLES
        assert environment["TTS_WORKER_THREADS"] == str(worker.threads)


def test_the_dispatchers_process_loads_no_model(hibari: Half, status: Status) -> None:
    maps = open(f"/proc/{hibari.process.pid}/maps", encoding="utf-8").read()  # noqa: SIM115
    assert "onnxruntime" not in maps
    for worker in status.workers:
        assert "onnxruntime" in open(f"/proc/{worker.pid}/maps", encoding="utf-8").read()  # noqa: SIM115


def test_processes_have_names_in_ps(hibari: Half, status: Status) -> None:
    assert psutil.Process(hibari.process.pid).name() == "tts-workers"
    names = [psutil.Process(worker.pid).name() for worker in status.workers]
    assert names == [f"tts-worker-{worker.index}" for worker in status.workers]
