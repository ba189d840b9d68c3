"""Promise 3: a worker that dies is not heard. Its requests go on, at the sample where they stood, on another one."""

from __future__ import annotations

import http.client
import json
import os
import signal
import threading
from typing import Any

import pytest

from support.load import at_once
from support.samples import tone_samples
from support.service import Service, wait_until

pytestmark = pytest.mark.system

ONE_SEGMENT = "la " * 99 + "la."
"""18 s of audio in one piece."""
SEVERAL = "This is a sentence of the story. And here is one more of it! " * 2
REQUESTS = [f"Request {n}. " + SEVERAL for n in range(8)]


def busy_workers(service: Service) -> list[dict[str, Any]]:
    """Return the workers that are speaking now."""
    return [worker for worker in service.workers() if worker["slots"]["active"] and worker["pid"]]


def wait_whole(service: Service) -> None:
    """Wait until every worker is warm."""
    wait_until(lambda: all(worker["state"] == "ready" for worker in service.workers()), 20.0, "all workers warm")


@pytest.fixture(autouse=True)
def whole(fragile: Service) -> Any:
    """Before and after each test all workers are warm, and nothing is in progress."""
    wait_whole(fragile)
    yield
    fragile.wait_idle()
    wait_whole(fragile)


@pytest.mark.parametrize(("text", "response_format"), [(ONE_SEGMENT, "wav"), (SEVERAL, "pcm"), (SEVERAL, "mp3")])
def test_a_stream_whose_worker_is_killed_goes_on_at_the_very_sample(
    fragile: Service, text: str, response_format: str
) -> None:
    fields = {"input": text, "response_format": response_format, "stream": True, "seed": 3}
    _, undisturbed = fragile.speak(text, response_format=response_format, stream=True, seed=3)
    with fragile.connect() as connection:
        chunks = connection.post("/v1/audio/speech", fields).chunks()
        heard = next(chunks)
        busy = busy_workers(fragile)
        for worker in busy:
            os.kill(worker["pid"], signal.SIGKILL)
        heard += b"".join(chunks)
    assert busy
    assert heard == undisturbed


@pytest.fixture(scope="module")
def undisturbed(fragile: Service) -> list[bytes]:
    """The answers to REQUESTS when nothing happens."""
    return at_once(lambda text: fragile.pcm(text, seed=1), REQUESTS, n_threads=4)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGSTOP])
def test_life_01_requests_in_flight_are_answered_when_all_workers_die_at_once(
    fragile: Service, undisturbed: list[bytes], number: int
) -> None:
    restarts = [worker["restarts"] for worker in fragile.workers()]

    def kill() -> None:
        for worker in wait_until(lambda: len(busy_workers(fragile)) == 2 and busy_workers(fragile), 5.0, "work"):
            os.kill(worker["pid"], number)

    killer = threading.Thread(target=kill)
    killer.start()
    answers = at_once(lambda n: fragile.pcm(REQUESTS[n], seed=1, stream=n % 2 == 0), range(4))
    killer.join()
    assert answers == undisturbed[:4]
    wait_whole(fragile)
    assert [worker["restarts"] for worker in fragile.workers()] == [n + 1 for n in restarts]
    assert all(worker["last_exit"] for worker in fragile.workers())


def test_a_killed_worker_is_back_warm_and_makes_the_same_audio(fragile: Service) -> None:
    before = fragile.pcm(SEVERAL, seed=8)
    for worker in fragile.workers():
        os.kill(worker["pid"], signal.SIGKILL)
        wait_until(
            lambda n=worker["index"], pid=worker["pid"]: fragile.workers()[n]["pid"] not in (0, pid), 10.0, "back"
        )
        wait_whole(fragile)
        assert fragile.pcm(SEVERAL, seed=8) == before


def test_workers_that_die_again_and_again_lose_nothing(fragile: Service, undisturbed: list[bytes]) -> None:
    finished = threading.Event()
    killed: list[int] = []

    def kill() -> None:
        while not finished.wait(0.05) and len(killed) < 6:
            busy = busy_workers(fragile)
            for worker in busy[: 1 + len(killed) % 2] if len(busy) == 2 else []:
                os.kill(worker["pid"], signal.SIGKILL)
                killed.append(worker["pid"])

    killer = threading.Thread(target=kill)
    killer.start()
    answers = at_once(lambda text: fragile.pcm(text, seed=1, stream=True), REQUESTS, n_threads=4)
    finished.set()
    killer.join()
    assert answers == undisturbed
    assert len(killed) >= 3


@pytest.mark.parametrize("order", ["crash", "exit", "crash prepare=1", "crash at=2"])
def test_a_text_that_crashes_its_worker_once_is_answered(fragile: Service, order: str) -> None:
    plain = "A text  of some length, for four seconds or even a little more."
    for stream in (False, True):
        pcm = fragile.pcm(plain.replace("  ", f" [[{order} attempts=1]] "), stream=stream)
        assert len(pcm) // 2 == tone_samples(plain)


@pytest.mark.parametrize("order", ["[[crash]]", "[[crash prepare=1]]"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_text_that_always_crashes_its_worker_fails_with_a_reason(fragile: Service, order: str, stream: bool) -> None:
    answer, body = fragile.speak(f"Poison {order}.", stream=stream)
    error = json.loads(body)["error"]
    assert (answer.status, error["code"], error["param"]) == (500, "poisonous_text", "input")
    assert "SIGSEGV" in error["message"]


def test_a_text_that_always_crashes_after_a_second_breaks_its_stream_off(fragile: Service) -> None:
    with fragile.connect() as connection:
        fields = {"input": f"{ONE_SEGMENT[:100]} [[crash at=1.0]]", "response_format": "pcm", "stream": True}
        answer = connection.post("/v1/audio/speech", fields)
        assert answer.status == 200
        with pytest.raises(http.client.IncompleteRead):
            answer.body()
    answer, body = fragile.speak(fields["input"], response_format="wav", stream=False)
    assert (answer.status, json.loads(body)["error"]["code"]) == (500, "poisonous_text")


def test_neighbours_of_a_text_that_crashes_its_worker_are_answered(fragile: Service, undisturbed: list[bytes]) -> None:
    def one(n: int) -> bytes | int:
        if n < 0:
            return fragile.speak("Poison [[crash at=0.5]] is in this text.", response_format="wav")[0].status
        return fragile.pcm(REQUESTS[n], seed=1, stream=True)

    assert at_once(one, [-1, 0, 1, 2, 3, -1]) == [500, *undisturbed[:4], 500]
