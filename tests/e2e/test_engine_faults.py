"""An engine that fails or hangs: the request gets its answer, the worker its replacement, and others notice nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.load import at_once
from support.samples import tone_samples
from support.service import Service, wait_until

pytestmark = pytest.mark.system

PLAIN = "A text  of some length, for four seconds or even a little more."


def order(kind: str) -> str:
    """Return PLAIN with an order to the engine in it, which is not spoken."""
    return PLAIN.replace("  ", f" [[{kind}]] ")


def restarts(service: Service) -> int:
    """Return how often workers have been started again."""
    return sum(worker["restarts"] for worker in service.workers())


@pytest.fixture(autouse=True)
def whole(fragile: Service) -> Any:
    """Before and after each test all workers are warm, and nothing is in progress."""
    _wait_whole(fragile)
    yield
    _wait_whole(fragile)


def _wait_whole(service: Service) -> None:
    service.wait_idle()
    wait_until(lambda: all(worker["state"] == "ready" for worker in service.workers()), 20.0, "all workers warm")


@pytest.mark.parametrize("kind", ["hang at=2", "spin"])
def test_a_hung_engine_is_replaced_and_its_request_answered(fragile: Service, kind: str) -> None:
    before = restarts(fragile)
    assert len(fragile.pcm(order(f"{kind} attempts=1"), stream=kind == "spin")) // 2 == tone_samples(PLAIN)
    wait_until(lambda: restarts(fragile) == before + 1, 5.0, "one replacement")
    assert any("hung in phase" in worker["last_exit"] for worker in fragile.workers())


def test_an_engine_that_is_late_within_its_limit_is_left_alone(fragile: Service) -> None:
    before = restarts(fragile)
    assert len(fragile.pcm(order("late amount=0.5"))) // 2 == tone_samples(PLAIN)
    assert restarts(fragile) == before


def test_neighbours_of_a_hung_segment_are_answered(fragile: Service) -> None:
    texts = [order("hang prepare=1 attempts=1"), *(f"Neighbour {n}. {PLAIN}" for n in range(6))]
    undisturbed = [fragile.pcm(text, seed=1) for text in texts[1:]]
    hung, *answers = at_once(lambda text: fragile.pcm(text, seed=1, stream=True), texts)
    assert len(hung) // 2 == tone_samples(PLAIN)
    assert answers == undisturbed


@pytest.mark.parametrize("kind", ["fail", "raise", "nan", "fail prepare=1", "raise prepare=1"])
@pytest.mark.parametrize("stream", [False, True])
def test_an_engine_that_fails_on_a_text_costs_that_request_alone(fragile: Service, kind: str, stream: bool) -> None:
    before, alone = restarts(fragile), fragile.pcm(PLAIN, seed=1)

    def one(n: int) -> Any:
        if n % 2:
            return fragile.pcm(PLAIN, seed=1)
        answer, body = fragile.speak(order(kind), stream=stream)
        return answer.status, json.loads(body)["error"]["code"]

    answers = at_once(one, range(6))
    assert answers[0::2] == [(500, "engine_failed")] * 3
    assert answers[1::2] == [alone] * 3
    assert restarts(fragile) == before


def test_a_failure_tells_the_client_nothing_of_the_inside(fragile: Service) -> None:
    _, body = fragile.speak(order("raise"))
    message = json.loads(body)["error"]["message"]
    assert "ValueError" not in message
    assert "Traceback" not in message
    log = fragile.text_of_log()
    assert "ValueError: the text ordered an exception" in log
    assert PLAIN[:7] not in log


def test_ready_says_so_while_no_worker_is_warm(fragile: Service) -> None:
    answers = at_once(lambda n: len(fragile.pcm(f"{n} {order('crash attempts=1')}")), range(8))
    assert set(answers) == {2 * tone_samples("0 " + PLAIN)}
    wait_until(fragile.is_ready, 10.0, "ready again")
    assert fragile.get("/health")[0] == 200
