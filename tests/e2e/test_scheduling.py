"""What a request can say about its urgency, and what becomes of it when the pool has too much to do."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from support.raw_http import RawClient
from support.service import Service, engine_options, running, wait_until

pytestmark = pytest.mark.system

ONE_SEGMENT = "la " * 99 + "la."
"""18 s of audio in one piece: 72 steps."""
SENTENCE = "A text of some length, for four seconds or even a little more."


@pytest.fixture(scope="module")
def narrow() -> Iterator[Service]:
    """One worker with two slots that makes five seconds of audio a second, and waits of fifteen seconds at most."""
    limit = {"TTS_SERVICE_POOLS_DEFAULT_MAX_WAIT_S": "15"}
    flags = ("--engine", "tone", "--workers", "1", "--slots", "2")
    with running(*flags, env=engine_options(step_wait_s=0.05, faults=True) | limit) as service:
        yield service


@pytest.fixture(autouse=True)
def idle(narrow: Service) -> Iterator[None]:
    """Each test leaves nothing in progress."""
    yield
    narrow.wait_idle()


def pool(service: Service) -> dict[str, Any]:
    found: dict[str, Any] = service.get("/workers")[1]["pools"][0]
    return found


@contextmanager
def loaded(service: Service, n: int) -> Iterator[None]:
    """Give the service `n` long streams to make meanwhile."""
    clients = [RawClient(service) for _ in range(n)]
    for client in clients:
        client.speech(ONE_SEGMENT, response_format="pcm", stream=True)
    wait_until(lambda: pool(service)["running"] + pool(service)["queued"] >= n, 10.0, "load")
    yield
    for client in clients:
        client.reset()


@pytest.mark.parametrize(("late", "early"), [("batch", 0), (-10, 10)])
def test_who_is_more_urgent_is_answered_first_whoever_came_first(narrow: Service, late: int | str, early: int) -> None:
    order: list[object] = []

    def ask(priority: int | str) -> None:
        assert narrow.speak(SENTENCE, response_format="wav", priority=priority)[0].status == 200
        order.append(priority)

    with loaded(narrow, 1):
        threads = []
        for n, priority in enumerate((late, early)):
            threads.append(threading.Thread(target=ask, args=(priority,)))
            threads[-1].start()
            wait_until(lambda n=n: pool(narrow)["running"] + pool(narrow)["queued"] >= 2 + n, 10.0, "in the queue")
    for thread in threads:
        thread.join()
    assert order == [early, late]


def test_a_request_that_cannot_be_served_in_its_time_is_refused_before_any_work(narrow: Service) -> None:
    with loaded(narrow, 2):
        answer, body = narrow.speak(SENTENCE, timeout=0.2)
        error = json.loads(body)["error"]
        assert (answer.status, error["code"], error["param"]) == (503, "deadline_unreachable", "timeout")
        assert "within 0.2 s" in error["message"]
        assert int(answer.headers["Retry-After"]) >= 1
        assert pool(narrow)["running"] >= 1, "the others are still at it"


def test_an_answer_that_is_not_there_in_its_time_ends_with_a_504_and_frees_its_slot(narrow: Service) -> None:
    before = narrow.workers()[0]["segments_done"]
    answer, body = narrow.speak(ONE_SEGMENT, response_format="wav", timeout=0.5)
    error = json.loads(body)["error"]
    assert (answer.status, error["code"], error["param"]) == (504, "timed_out", "timeout")
    narrow.wait_idle()
    assert narrow.workers()[0]["segments_done"] == before, "it was not made to its end"


def test_a_wait_over_the_limit_is_refused_with_when_to_try_again(narrow: Service) -> None:
    with loaded(narrow, 3):
        clients = []
        for _ in range(3):
            clients.append(RawClient(narrow))
            clients[-1].speech(ONE_SEGMENT, response_format="pcm", stream=True)
        answer, body = wait_until(lambda: refusal(narrow), 20.0, "a refusal")
        assert json.loads(body)["error"]["code"] == "queue_full"
        assert "the limit is 15 s" in json.loads(body)["error"]["message"]
        assert int(answer.headers["Retry-After"]) >= 15, "as long as the wait is"
        assert answer.headers["x-should-retry"] == "true"
        for client in clients:
            client.reset()


def refusal(service: Service) -> Any:
    """Return the answer to a request, with its body, where it is a refusal."""
    found = service.speak(SENTENCE, timeout=3600)
    return found if found[0].status == 503 else None


@pytest.mark.parametrize("phase", ["queued", "before the first byte", "mid-stream", "in one piece"])
def test_who_leaves_frees_the_place_in_every_phase(narrow: Service, phase: str) -> None:
    n_gone = narrow.text_of_log().count("outcome=client_gone")
    with loaded(narrow, 2 if phase == "queued" else 0):
        n_done, n_queued = narrow.workers()[0]["segments_done"], pool(narrow)["queued"]
        client = RawClient(narrow)
        text = f"[[late prepare=1 amount=0.5]] {ONE_SEGMENT}" if phase == "before the first byte" else ONE_SEGMENT
        client.speech(text, response_format="pcm", stream=phase != "in one piece")
        if phase == "queued":
            wait_until(lambda: pool(narrow)["queued"] == n_queued + 1, 10.0, "queued")
        elif phase == "mid-stream":
            assert len(client.answer().read(1000)) == 1000
        else:
            wait_until(lambda: pool(narrow)["running"] == 1, 10.0, "running")
        client.reset()
        wait_until(lambda: narrow.text_of_log().count("outcome=client_gone") == n_gone + 1, 10.0, "its end")
        wait_until(lambda: pool(narrow)["queued"] <= n_queued, 10.0, "its place in the queue")
        if phase == "queued":
            assert not narrow.is_idle(), "its neighbours go on"
        else:
            narrow.wait_idle()
            assert narrow.workers()[0]["segments_done"] == n_done, "it was not made to its end"
