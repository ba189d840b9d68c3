"""Start, stop, and what is left behind: nothing."""

from __future__ import annotations

import json
import os
import signal
import socket
import statistics
import threading
from urllib.parse import urlsplit

import psutil
import pytest

from support.load import at_once
from support.raw_http import RawClient
from support.service import Service, engine_options, running, wait_until
from tts_service.errors import ExitCode

pytestmark = pytest.mark.system

SLOW = engine_options(step_cost_s=0.02)
TEXT = "This is a sentence of the story. And here is one more of it! "


def port_of(service: Service) -> int:
    return int(urlsplit(service.url).port or 0)


def is_gone(process: psutil.Process) -> bool:
    """Return True for a process that has ended, also where nobody has asked for its status."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def refuses(port: int) -> bool:
    """Return True when nobody listens on a port."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_life_04_nothing_outlives_the_top_process(number: signal.Signals) -> None:
    with running("--engine", "tone") as service:
        family = service.processes()
        assert len(family) == 6
        code = service.stop(number)
        assert code == (-signal.SIGKILL if number == signal.SIGKILL else ExitCode.OK)
        wait_until(lambda: all(map(is_gone, family)), 5.0, "the end of the whole family")
        assert refuses(port_of(service))
        again = ("--runtime-dir", str(service.runtime_dir), "--port", str(port_of(service)))
        with running("--engine", "tone", *again) as successor:
            assert successor.pcm("At once.")


def test_life_04_children_leave_when_their_parent_is_killed_while_they_start_and_work() -> None:
    with running("--engine", "tone", env=engine_options(load_s=30), wait=False) as service:
        family = wait_until(lambda: len(service.processes()) == 6 and service.processes(), 10.0, "all processes")
        service.process.kill()
        wait_until(lambda: all(map(is_gone, family)), 5.0, "the end of the whole family")


def test_life_06_what_is_in_flight_or_queued_at_a_sigterm_is_finished() -> None:
    with running("--engine", "tone", "--workers", "1", env=SLOW) as service:
        texts = [f"Request {n}. {TEXT}" for n in range(6)]
        undisturbed = [service.pcm(texts[0], seed=1), service.pcm(texts[5], seed=1)]

        def stop() -> None:
            wait_until(lambda: service.get("/workers")[1]["pools"][0]["queued"] > 3, 5.0, "a queue")
            service.process.send_signal(signal.SIGTERM)

        thread = threading.Thread(target=stop)
        thread.start()
        answers = at_once(lambda text: service.pcm(text, seed=1, stream=text != texts[5]), texts)
        thread.join()
        assert [answers[0], answers[5]] == undisturbed
        assert {len(answer) for answer in answers} == {len(undisturbed[0])}
        assert service.process.wait(10) == ExitCode.OK
        assert "Traceback" not in service.text_of_log()


def test_life_06_a_client_that_comes_during_the_drain_is_refused_at_once() -> None:
    with running("--engine", "tone", "--workers", "1", env=SLOW) as service, RawClient(service) as client:
        client.speech(TEXT * 4, response_format="pcm", stream=True)
        answer = client.answer()
        service.process.send_signal(signal.SIGTERM)
        wait_until(lambda: refuses_connections(service), 5.0, "a refusal")
        # The stream is still under way: it is the listener that has gone, not the service.
        assert service.process.poll() is None
        assert len(answer.read()) > 100_000
        assert service.process.wait(10) == ExitCode.OK


def refuses_connections(service: Service) -> bool:
    """Return True when the kernel refuses a connection; one that is taken in is answered or refused, and closed."""
    try:
        with RawClient(service):
            return False
    except ConnectionRefusedError:
        return True


def test_a_second_signal_ends_everything_at_once() -> None:
    with running("--engine", "tone", "--workers", "1", env=SLOW) as service, RawClient(service) as client:
        family = service.processes()
        client.speech(TEXT * 100, response_format="pcm", stream=True)
        client.answer()
        service.process.send_signal(signal.SIGTERM)
        service.process.send_signal(signal.SIGINT)
        service.process.wait(5)
        wait_until(lambda: all(map(is_gone, family)), 5.0, "the end of the whole family")


def test_life_08_val_12_before_it_is_ready_the_service_says_so_at_once_in_strict_json() -> None:
    with running("--engine", "tone", env=engine_options(load_s=1.5), wait=False) as service:
        wait_until(lambda: service.request("GET", "/health")[0] == 200, 10.0, "alive")
        status, error, headers = service.request("GET", "/ready")
        assert (status, error["error"]["code"]) == (503, "not_ready")
        assert int(headers["Retry-After"]) >= 1
        answer, body = service.speak("Too early.")
        assert (answer.status, json.loads(body)["error"]["code"]) == (503, "not_ready")
        # Averages over nothing are still numbers.
        for path in ("/health", "/workers", "/v1/models", "/v1/audio/models", "/v1/audio/voices"):
            assert service.request("GET", path)[0] in (200, 503), path
        wait_until(service.is_ready, 20.0, "ready")
        assert [worker["state"] for worker in service.workers()] == ["ready"] * len(service.workers())
        assert service.pcm("Now.")


def test_life_08_the_first_sentence_costs_what_the_others_cost() -> None:
    with running("--workers", "1") as service:
        costs_s = []
        for n in range(6):
            before = service.workers()[0]["cpu_seconds"]
            service.pcm("The quick brown fox jumps over the lazy dog.", seed=n)
            costs_s.append(service.workers()[0]["cpu_seconds"] - before)
    # A cold engine takes six to eight times as long.
    assert costs_s[0] < 2.5 * statistics.median(costs_s[1:])


def test_a_worker_that_waits_to_be_ready_is_not_counted_as_such() -> None:
    with running("--engine", "tone", env=engine_options(load_s=1.0)) as service:
        (victim, *_) = service.workers()
        os.kill(victim["pid"], signal.SIGKILL)
        wait_until(lambda: service.workers()[0]["state"] in ("dead", "starting", "loading"), 5.0, "its death")
        # The service as a whole has been ready and one worker is: it stays ready.
        assert service.is_ready()
        assert service.pcm("Still here.")
