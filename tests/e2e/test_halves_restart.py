"""Either half of a running service dies: the other goes on, `serve` brings it back, and streams are not cut."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import psutil
import pytest

from support.load import at_once
from support.service import Service, engine_options, running, wait_until

pytestmark = pytest.mark.system

TEXT = "This is a sentence of the story. And here is one more of it! "
LIMITS = {"TTS_SERVICE_WORKERS_GATEWAY_TIMEOUT_S": "1"}


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """Two workers that make 25 seconds of audio a second; a gateway is given up after a second of silence."""
    with running("--engine", "tone", env=engine_options(step_cost_s=0.01) | LIMITS) as service:
        yield service


@pytest.fixture(autouse=True)
def whole(service: Service) -> None:
    """Each test starts with all workers warm."""
    wait_until(service.is_ready, 20.0, "ready")
    wait_until(lambda: all(worker["state"] == "ready" for worker in service.workers()), 20.0, "all workers warm")


def n_running(service: Service) -> int:
    """Return how many segments are in progress or wait; 0 while the workers' half does not answer."""
    status, value = service.get("/workers")
    return sum(pool["queued"] + pool["running"] for pool in value["pools"]) if status == 200 else 0


def in_flight(service: Service, act: object) -> tuple[list[bytes], list[bytes]]:
    """Make four requests, call `act` while they are in progress, and return their answers, and what they should be."""
    texts = [f"Request {n}. {TEXT}" for n in range(4)]
    undisturbed = at_once(lambda text: service.pcm(text, seed=1), texts)

    def disturb() -> None:
        wait_until(lambda: n_running(service) >= 4, 5.0, "work")
        assert callable(act)
        act()

    thread = threading.Thread(target=disturb)
    thread.start()
    answers = at_once(lambda text: service.pcm(text, seed=1, stream=int(text[8]) % 2 == 0), texts)
    thread.join()
    return answers, undisturbed


def kill(process: psutil.Process) -> None:
    process.send_signal(signal.SIGKILL)


def wait_gone(processes: list[psutil.Process]) -> None:
    """Wait until these processes have ended, and their parents know it."""
    wait_until(lambda: not any(process.is_running() for process in processes), 5.0, "their end")


def test_requests_in_flight_outlive_the_dispatcher(service: Service) -> None:
    (old,) = service.named("tts-workers")
    its_workers = old.children()
    answers, undisturbed = in_flight(service, lambda: kill(old))
    assert answers == undisturbed
    wait_gone([old, *its_workers])
    (new,) = service.named("tts-workers")
    assert new.pid != old.pid
    assert len(new.children()) == len(its_workers)


def test_a_new_request_waits_for_a_dispatcher_that_is_away(service: Service) -> None:
    before = service.pcm(TEXT, seed=4)
    kill(service.named("tts-workers")[0])
    assert service.get("/health")[0] == 200
    assert service.pcm(TEXT, seed=4) == before


def test_requests_in_flight_outlive_a_dispatcher_that_is_asked_to_leave(service: Service) -> None:
    (old,) = service.named("tts-workers")
    answers, undisturbed = in_flight(service, lambda: old.send_signal(signal.SIGTERM))
    assert answers == undisturbed
    wait_until(lambda: [p.pid for p in service.named("tts-workers")] not in ([], [old.pid]), 10.0, "a new dispatcher")


def test_the_port_stays_open_when_the_gateway_dies(service: Service) -> None:
    before = service.pcm("A short one.", seed=5)
    old = service.named("tts-gateway")
    kill(old[0])
    # Nobody is refused: the connection waits in the listening socket, which `serve` holds.
    wait_gone(old)
    assert service.pcm("A short one.", seed=5) == before
    wait_until(lambda: len(service.named("tts-gateway")) == 2, 10.0, "both gateway processes")
    service.wait_idle()


def test_a_gateway_process_that_dies_is_replaced_by_its_parent(service: Service) -> None:
    parent, child = service.named("tts-gateway")
    kill(child)
    assert service.pcm("A short one.")
    wait_until(lambda: len(service.named("tts-gateway")) == 2, 10.0, "both gateway processes")
    assert service.named("tts-gateway")[0].pid == parent.pid
    service.wait_idle()


def test_requests_in_flight_outlive_a_gateway_that_was_taken_for_dead(service: Service) -> None:
    gateway = service.named("tts-gateway")[-1].pid

    def freeze() -> None:
        os.kill(gateway, signal.SIGSTOP)
        try:
            wait_until(lambda: "is gone: silent" in service.text_of_log(), 20.0, "given up")
        finally:
            os.kill(gateway, signal.SIGCONT)

    answers, undisturbed = in_flight(service, freeze)
    assert answers == undisturbed
    service.wait_idle()


@pytest.mark.drill
def test_a_dispatcher_that_was_stopped_for_a_while_goes_on(service: Service) -> None:
    (dispatcher,) = service.named("tts-workers")

    def freeze() -> None:
        dispatcher.suspend()
        try:
            wait_until(lambda: "lost the dispatcher: silent" in service.text_of_log(), 20.0, "missed")
        finally:
            dispatcher.resume()

    answers, undisturbed = in_flight(service, freeze)
    assert answers == undisturbed
    service.wait_idle()
