"""A service is taken out of use: it finishes what it has, refuses what comes, says so, and says when it is empty."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from support.raw_http import RawClient
from support.service import Service, engine_options, running, wait_until

pytestmark = pytest.mark.system

TEXT = "This is a sentence of the story. And here is one more of it! "


def drain(service: Service, *flags: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tts_service", "drain", "--runtime-dir", str(service.runtime_dir), *flags]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def said(process: subprocess.Popen[str]) -> tuple[int, str]:
    output, _ = process.communicate(timeout=30.0)
    return process.returncode, output.strip()


def is_closed(service: Service) -> bool:
    status, value = service.get("/ready")
    return status == 503 and "new requests" in json.dumps(value)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """One worker that makes five seconds of audio a second."""
    with running("--engine", "tone", "--workers", "1", env=engine_options(step_cost_s=0.05)) as service:
        yield service


@pytest.fixture(autouse=True)
def opened(service: Service) -> Iterator[None]:
    """Each test ends with the service in use."""
    yield
    assert said(drain(service, "--undo")) == (0, "the service takes requests again")
    service.wait_ready()


def test_a_drained_service_finishes_what_it_has_and_refuses_what_comes(service: Service) -> None:
    expected = service.pcm(TEXT * 2, seed=1)
    with RawClient(service) as client:
        client.speech(TEXT * 2, seed=1, response_format="pcm", stream=True)
        answer = client.answer()
        process = drain(service)
        wait_until(lambda: is_closed(service), 10.0, "closed")
        refusal, body = service.speak("One more.")
        assert (refusal.status, json.loads(body)["error"]["code"]) == (503, "not_ready")
        assert int(refusal.headers["Retry-After"]) >= 1
        assert refusal.headers["x-should-retry"] == "true"
        assert service.get("/health")[0] == 200
        assert process.poll() is None, "it waits for the request in progress"
        assert answer.read() == expected
    assert said(process) == (0, "the service is empty")


def test_a_drain_that_waits_for_too_long_says_so_and_stays_in_force(service: Service) -> None:
    with RawClient(service) as client:
        client.speech(TEXT * 20, response_format="wav")
        wait_until(lambda: not service.is_idle(), 10.0, "work")
        code, words = said(drain(service, "--timeout", "0.3"))
        assert (code, words) == (69, "tts-service: error: requests are still in progress after 0.3 s")
        assert is_closed(service)
    service.wait_idle()


def test_a_restart_of_the_workers_half_does_not_take_it_back_into_use(service: Service) -> None:
    assert said(drain(service)) == (0, "the service is empty")
    (old,) = service.named("tts-workers")
    os.kill(old.pid, signal.SIGKILL)
    wait_until(lambda: [p.pid for p in service.named("tts-workers")] not in ([], [old.pid]), 20.0, "a new dispatcher")

    def warm() -> bool:
        status, value = service.get("/workers")
        return status == 200 and all(worker["state"] == "ready" for worker in value["workers"])

    wait_until(warm, 20.0, "warm")
    assert is_closed(service)
    assert service.speak("One more.")[0].status == 503
    assert "closed to new requests since an earlier" in service.text_of_log()
