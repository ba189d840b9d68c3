"""A lone sentence is spoken on all CPUs, and has the same bytes whoever speaks it, whatever comes or dies meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from support.piper_voices import cache_directory, joe_directory
from support.service import Service, engine_options, running, wait_until

pytestmark = pytest.mark.system

CLAUSE = "Could you please open the window and let in some fresh air, because it is very warm in here, "
LONG = CLAUSE * 4 + "and nobody wants to sleep in a room as hot as this one."
"""Half a minute: a second's work on one thread."""
OTHER = "Nobody knows what the other one wants, " * 10 + "or does."


@pytest.fixture(scope="module")
def piper() -> Iterator[Service]:
    """Two workers with one thread each, and a wide one that is warm."""
    options = engine_options(cache=str(cache_directory()))
    env = options | {"TTS_SERVICE_GATEWAY_SEGMENT_CHARS": "500"}
    flags = ("--engine", "piper", "--models", str(joe_directory()), "--workers", "2", "--threads", "1")
    with running(*flags, env=env) as service:
        wait_wide(service)
        yield service


@pytest.fixture(scope="module")
def reference(piper: Service) -> bytes:
    """LONG as an ordinary worker speaks it, streamed: while the wide one is dead."""
    wide = wide_of(piper)
    os.kill(wide["pid"], signal.SIGKILL)
    spoken = native(piper, LONG)
    assert wide_of(piper)["segments_done"] == wide["segments_done"]
    wait_wide(piper)
    return spoken


def wide_of(service: Service) -> dict[str, Any]:
    (wide,) = [worker for worker in service.workers() if worker["wide"]]
    return wide


def wait_wide(service: Service) -> None:
    """Wait until the wide worker is warm and nothing else goes on."""
    wait_until(lambda: wide_of(service)["state"] == "ready", 60.0, "a warm wide worker")
    service.wait_idle()


def native(service: Service, text: str, *, stream: bool = True) -> bytes:
    return service.pcm(text, sample_rate="native", stream=stream)


def kill_while_it_speaks(service: Service, text: str, *, wide: bool) -> bytes:
    """Return the stream of `text`, whose worker is killed once the first audio has come."""
    with service.connect() as connection:
        answer = connection.post(
            "/v1/audio/speech", {"input": text, "response_format": "pcm", "sample_rate": "native", "stream": True}
        )
        assert answer.status == 200
        (speaking,) = [w for w in service.workers() if w["slots"]["active"]]
        assert speaking["wide"] is wide
        os.kill(speaking["pid"], signal.SIGKILL)
        return answer.body()


def test_lone_sentences_are_spoken_wide_and_texts_of_several_are_not(piper: Service) -> None:
    before = wide_of(piper)["segments_done"]
    native(piper, "Hello there.")
    native(piper, "Hello there.", stream=False)
    assert wide_of(piper)["segments_done"] == before + 2
    native(piper, "Hello there. Who is it? It is me.")
    assert wide_of(piper)["segments_done"] == before + 2


def test_bytes_are_the_same_wide_and_not(piper: Service, reference: bytes) -> None:
    before = wide_of(piper)["segments_done"]
    assert native(piper, LONG) == reference
    buffered = native(piper, LONG, stream=False)
    assert wide_of(piper)["segments_done"] == before + 2
    with ThreadPoolExecutor(4) as threads:
        crowd = list(threads.map(lambda _: native(piper, LONG, stream=False), range(4)))
    assert set(crowd) == {buffered}


def test_other_work_narrows_it_and_leaves_the_bytes_as_they_are(piper: Service, reference: bytes) -> None:
    with ThreadPoolExecutor(1) as threads:
        lone = threads.submit(native, piper, LONG)
        wait_until(lambda: wide_of(piper)["slots"]["active"], 20.0, "a lone sentence")
        native(piper, OTHER)
        assert lone.result() == reference


def test_a_wide_worker_that_is_killed_in_a_word_is_inaudible(piper: Service, reference: bytes) -> None:
    restarts = wide_of(piper)["restarts"]
    assert kill_while_it_speaks(piper, LONG, wide=True) == reference
    wait_wide(piper)
    assert wide_of(piper)["restarts"] == restarts + 1


def test_an_ordinary_worker_that_is_killed_in_a_word_is_followed_by_the_wide_one(
    piper: Service, reference: bytes
) -> None:
    wait_wide(piper)
    before = wide_of(piper)
    with ThreadPoolExecutor(1) as threads:
        # Spoken wide, so that the next one is not; it ends first.
        first = threads.submit(native, piper, CLAUSE)
        wait_until(lambda: wide_of(piper)["slots"]["active"] or first.done(), 20.0, "a lone sentence")
        with piper.connect() as connection:
            fields = {"input": LONG, "response_format": "pcm", "sample_rate": "native", "stream": True}
            answer = connection.post("/v1/audio/speech", fields)
            first.result()
            busy = [worker for worker in piper.workers() if worker["slots"]["active"]]
            for worker in busy:
                os.kill(worker["pid"], signal.SIGKILL)
            body = answer.body()
    assert body == reference
    assert len(busy) == 1
    assert not busy[0]["wide"]
    assert wide_of(piper)["segments_done"] == before["segments_done"] + 2


def test_it_is_watched_like_any_worker(piper: Service) -> None:
    wait_wide(piper)
    native(piper, LONG)
    wide = wide_of(piper)
    ordinary = [worker for worker in piper.workers() if not worker["wide"]]
    assert wide["cpus"] == sorted(cpu for worker in ordinary for cpu in worker["cpus"])
    assert (wide["threads"], wide["live_threads"], wide["faults"]) == (2, 4, [])
    status, metrics, _ = piper.request("GET", "/metrics")
    assert status == 200
    assert f'tts_worker_wide{{pool="default",worker="{wide["index"]}"}} 1.0' in metrics.decode()


def test_a_service_without_memory_for_it_does_without() -> None:
    flags = ("--engine", "tone", "--workers", "2", "--threads", "1")
    limit = {"TTS_SERVICE_WORKERS_MEMORY_TOTAL_MIB": str(room_for_two(flags))}
    with running(*flags, env=limit | {"TTS_SERVICE_POOLS_DEFAULT_WIDE": "true"}) as service:
        wait_until(lambda: "killed, with it all need" in service.text_of_log(), 30.0, "a worker too many")
        assert len(service.pcm("Hello.")) > 0
        assert wide_of(service)["state"] == "dead"
        assert service.is_ready()


def room_for_two(flags: tuple[str, ...]) -> int:
    """Return the MiB that two and a half workers need."""
    with running(*flags) as service:
        return round(1.25 * sum(worker["rss_bytes"] for worker in service.workers()) / (1 << 20))


def test_a_reload_replaces_it_like_the_others() -> None:
    flags = ("--engine", "tone", "--workers", "2", "--threads", "1")
    with running(*flags, env={"TTS_SERVICE_POOLS_DEFAULT_WIDE": "true"}) as service:
        wait_wide(service)
        before = {worker["pid"] for worker in service.workers()}
        command = [sys.executable, "-m", "tts_service", "reload", "--runtime-dir", str(service.runtime_dir)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert result.returncode == 0, result.stderr
        workers = service.workers()
        assert not before & {worker["pid"] for worker in workers}
        assert [worker["state"] for worker in workers] == ["ready"] * 3
        service.pcm("Hello.")
        assert wide_of(service)["segments_done"] == 1
