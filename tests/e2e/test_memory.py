"""Nothing grows with the number of requests: memory, descriptors, processes, files."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

from support.load import at_once
from support.raw_http import RawClient
from support.sentences import PLAIN
from support.service import Service, running, wait_until

pytestmark = pytest.mark.system

SECRET = "Nobody is to find this sentence anywhere on a disk."
MB = 1 << 20
FORMATS = ("mp3", "wav", "pcm", "opus", "flac", "aac")


def computing(service: Service) -> list[psutil.Process]:
    """Return the processes that handle requests: gateway, dispatcher, workers."""
    pids = [worker["pid"] for worker in service.workers()]
    return [service.named("tts-gateway")[-1], *service.named("tts-workers"), *map(psutil.Process, pids)]


def rss(service: Service) -> dict[str, int]:
    return {process.name(): process.memory_info().rss for process in computing(service)}


def counts(service: Service) -> list[tuple[str, int, int]]:
    """Return name, descriptors and threads of the processes that handle requests; sockets of clients are gone."""
    service.wait_idle()
    processes = computing(service)
    gateway = processes[0]
    wait_until(lambda: not gateway.net_connections("tcp") or _only_listens(gateway), 10.0, "clients gone")
    return [(process.name(), process.num_fds(), process.num_threads()) for process in processes]


def _only_listens(gateway: psutil.Process) -> bool:
    return len([c for c in gateway.net_connections("tcp") if c.status != psutil.CONN_LISTEN]) <= 1


def one(service: Service, n: int) -> None:
    """Make the `n`-th request of a mixture of lengths, formats and modes."""
    text = " ".join(PLAIN[n % 12 : n % 12 + 1 + n % 3])
    answer, body = service.speak(text, response_format=FORMATS[n % 6], stream=n % 2 == 0, seed=n)
    assert answer.status == 200
    assert len(body) > 1000


def test_mem_01_memory_and_descriptors_stay_where_they_are(either: Service) -> None:
    # Each format, length and mode on each thread.
    at_once(lambda n: one(either, n), range(100), n_threads=4)
    before, counted = rss(either), counts(either)
    at_once(lambda n: one(either, n), range(120), n_threads=4)
    for name, size in rss(either).items():
        assert size - before[name] < 8 * MB, name
    assert counts(either)[1:] == counted[1:]


@pytest.mark.drill
@pytest.mark.timeout(600)
def test_mem_01_memory_is_flat_over_a_thousand_requests(either: Service) -> None:
    sizes: dict[str, list[int]] = {}
    for step in range(20):
        at_once(lambda n, step=step: one(either, 50 * step + n), range(50), n_threads=4)
        for name, size in rss(either).items():
            sizes.setdefault(name, []).append(size)
    for name, found in sizes.items():
        # Bytes a request, from the 300th on.
        slope = np.polyfit(np.arange(6, 20) * 50, found[6:], 1)[0]
        assert slope < 10_000, name


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Path]]:
    """A service whose workers may be killed, and the directory in which it may make temporary files."""
    place = tmp_path_factory.mktemp("tmp")
    env = {"TMPDIR": str(place), "HOME": str(place), "XDG_CACHE_HOME": str(place)}
    with running(env=env | {"TTS_SERVICE_WORKERS_BACKOFF_MAX_S": "0.1"}) as service:
        yield service, place


def leave(service: Service, n: int) -> None:
    """Make a request and leave before its answer is whole."""
    with RawClient(service) as client:
        client.speech(f"{SECRET} " * 5, response_format="pcm", stream=n % 2 == 0)
        if n % 3:
            client.socket.recv(500)


def kill_a_worker(service: Service) -> None:
    """Kill the first worker, and wait until all are warm again."""
    pid = service.workers()[0]["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: service.workers()[0]["pid"] not in (0, pid), 10.0, "its successor")
    wait_until(lambda: all(worker["state"] == "ready" for worker in service.workers()), 20.0, "all workers warm")


def test_mem_04_no_text_and_no_audio_is_written_to_a_disk(mortal: tuple[Service, Path]) -> None:
    service, place = mortal
    at_once(lambda n: service.speak(SECRET, response_format=("mp3", "wav")[n % 2]), range(40), n_threads=4)
    at_once(lambda n: leave(service, n), range(20), n_threads=4)
    kill_a_worker(service)
    assert service.pcm(SECRET)
    assert list(place.rglob("*")) == []
    assert sorted(path.name for path in service.runtime_dir.iterdir()) == [
        "gateways.sock",
        "workers.lock",
        "workers.sock",
    ]
    assert SECRET not in service.text_of_log()


def test_mem_06_aborts_and_deaths_leave_no_processes_or_descriptors_behind(mortal: tuple[Service, Path]) -> None:
    service, _ = mortal
    kill_a_worker(service)
    assert service.pcm("Warm.")
    n_processes, counted = len(service.processes()), counts(service)[1]
    at_once(lambda n: leave(service, n), range(60), n_threads=8)
    for _ in range(3):
        kill_a_worker(service)
    service.wait_idle()
    processes = service.processes()
    assert [process.name() for process in processes if process.status() == psutil.STATUS_ZOMBIE] == []
    assert len(processes) == n_processes
    # The supervisor: a pidfd for each worker, and no more.
    assert counts(service)[1] == counted
