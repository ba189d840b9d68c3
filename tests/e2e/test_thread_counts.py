"""Promise 1: after warm-up no connection, request or failure brings a thread into being, or ends one."""

from __future__ import annotations

import os
from typing import Any

import psutil
import pytest

from support.load import at_once
from support.raw_http import RawClient
from support.service import Service, running, wait_until

pytestmark = pytest.mark.system

N_THREADS = 64
"""gateway.threads, by default."""
N_OTHERS = 4
"""Threads of a gateway besides: main, the client's, and two of ZeroMQ."""


def tasks(pid: int) -> frozenset[str]:
    """Return the thread ids of a process."""
    return frozenset(os.listdir(f"/proc/{pid}/task"))


def worker_tasks(service: Service) -> dict[int, frozenset[str]]:
    """Return the thread ids of every synthesis process."""
    return {worker["pid"]: tasks(worker["pid"]) for worker in service.workers()}


def mixed(service: Service, n: int) -> None:
    """Make the `n`-th of a mixture of requests, each on a new connection."""
    kind = n % 5
    if kind == 0:
        assert service.speak("Here is a sentence.", response_format="wav")[0].status == 200
    elif kind == 1:
        assert service.pcm("Here is another one. And more.", stream=True)
    elif kind == 2:
        assert service.speak("x", voice="nobody")[0].status == 400
    elif kind == 3:
        with RawClient(service) as client:
            client.speech("A client that leaves in the middle of it. " * 5, response_format="pcm")
            client.answer().read(100)
    else:
        assert service.speak("Fifth.")[0].status == 200


def test_cpu_01_workers_keep_the_very_same_threads_whatever_connects(either: Service) -> None:
    at_once(lambda n: mixed(either, n), range(10), n_threads=5)
    before = worker_tasks(either)
    at_once(lambda n: mixed(either, n), range(120), n_threads=8)
    for n in range(30):
        mixed(either, n)
    with either.connect() as connection:
        for _ in range(100):
            connection.post("/v1/audio/speech", {"input": "On one connection."}).body()
    assert worker_tasks(either) == before
    for worker in either.workers():
        assert worker["live_threads"] == len(before[worker["pid"]])


def test_cpu_01_a_gateway_has_no_more_threads_than_its_settings_say(tone: Service) -> None:
    gateway = tone.named("tts-gateway")[-1]
    clients = [RawClient(tone) for _ in range(2 * N_THREADS)]
    for client in clients:
        client.speech("All at once.")
    statuses = [client.answer().status for client in clients]
    for client in clients:
        client.socket.close()
    assert set(statuses) <= {200, 503}
    assert statuses.count(200) >= 48
    assert gateway.num_threads() <= N_THREADS + N_OTHERS


def test_the_processes_that_only_watch_have_no_threads_to_compute_with(tone: Service) -> None:
    assert psutil.Process(tone.pid).num_threads() == 1
    # Main, and two of ZeroMQ.
    assert tone.named("tts-workers")[0].num_threads() == 3


def test_cpu_08_a_request_makes_no_thread(tone: Service) -> None:
    gateway = tone.named("tts-gateway")[-1].pid
    with tone.connect() as connection:
        connection.post("/v1/audio/speech", {"input": "First."}).body()
        workers, before = worker_tasks(tone), tasks(gateway)
        for n in range(100):
            connection.post("/v1/audio/speech", {"input": f"Number {n}."}).body()
    # gunicorn's pool grows to its size once, and its threads stay: none of those before is gone.
    assert before <= tasks(gateway)
    assert len(tasks(gateway)) <= N_THREADS + N_OTHERS
    assert worker_tasks(tone) == workers


def worker_threads(n_threads: int, env: dict[str, str]) -> int:
    with running("--workers", "1", "--threads", str(n_threads), env=env) as service:
        assert service.pcm("Speak up.")
        (worker,) = service.workers()
        assert worker["threads"] == n_threads
        found: int = worker["live_threads"]
        return found


def test_cpu_03_a_workers_threads_follow_from_its_budget_alone() -> None:
    foreign: dict[str, Any] = {"OMP_NUM_THREADS": "64", "OPENBLAS_NUM_THREADS": "16", "MKL_NUM_THREADS": "8"}
    one, two = worker_threads(1, {}), worker_threads(2, foreign)
    assert two == one + 1
    # Main, and two of ZeroMQ: the engine's budget counts the thread that calls it.
    assert one == 3


@pytest.mark.drill
@pytest.mark.parametrize("omp", [None, "1", "64"])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_cpu_03_no_thread_variable_changes_a_workers_threads(n_threads: int, omp: str | None) -> None:
    env = {} if omp is None else {"OMP_NUM_THREADS": omp}
    assert worker_threads(n_threads, env) == 2 + n_threads


@pytest.mark.drill
def test_cpu_01_threads_are_the_same_after_a_minute_of_idleness(either: Service) -> None:
    at_once(lambda n: mixed(either, n), range(50), n_threads=8)
    before, started = worker_tasks(either), either.workers()[0]["voluntary_switches"]
    # The heartbeats of a minute, as counted by the kernel: at least one switch a second.
    wait_until(lambda: either.workers()[0]["voluntary_switches"] > started + 60, 110.0, "a minute of heartbeats")
    assert worker_tasks(either) == before
