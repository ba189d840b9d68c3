"""The model changes between two attempts at a segment: its request ends on the old one or fails, never on both."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.load import at_once
from support.raw_http import RawClient
from support.service import Service, running, wait_until

pytestmark = pytest.mark.system

TEXT = "la " * 40 + "la. " + "na " * 40 + "na. Then the end of it."
"""16 s of audio in three segments, of which the first takes a second and a half."""
POOL = '[pools.default]\nengine = "tone"\nworkers = 2\noptions = {{step_wait_s = 0.05, sample_rate_hz = {rate_hz}}}\n'


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The settings file of `service`."""
    path = tmp_path / "config.toml"
    path.write_text(POOL.format(rate_hz=24000))
    return path


@pytest.fixture
def service(config: Path) -> Iterator[Service]:
    """Two workers that make five seconds of audio a second each."""
    with running("--config", str(config)) as service:
        yield service


def rest_of(answer: http.client.HTTPResponse) -> tuple[bytes, bool]:
    """Return what still comes of a stream, and whether it has its end."""
    try:
        return answer.read(), True
    except http.client.IncompleteRead as error:
        return error.partial, False


def kill_busy_worker(service: Service) -> None:
    busy = wait_until(
        lambda: next((worker for worker in service.workers() if worker["slots"]["active"]), None), 10.0, "work"
    )
    os.kill(busy["pid"], signal.SIGKILL)


def test_after_a_restart_with_another_model_an_old_request_fails_and_is_not_spliced(
    service: Service, config: Path
) -> None:
    undisturbed = service.pcm(TEXT, seed=1)
    with RawClient(service) as client:
        client.speech(TEXT, response_format="pcm", stream=True, seed=1)
        answer = client.answer()
        heard = answer.read(1000)
        config.write_text(POOL.format(rate_hz=16000))

        def act(what: str) -> Any:
            if what == "whole":
                return service.speak(TEXT, response_format="wav", seed=1)
            wait_until(lambda: service.get("/workers")[1]["pools"][0]["running"] >= 4, 10.0, "both in progress")
            (dispatcher,) = service.named("tts-workers")
            return dispatcher.send_signal(signal.SIGKILL)

        (whole, body), _ = at_once(act, ["whole", "kill"], 2)
        rest, ended = rest_of(answer)
    assert not ended
    assert undisturbed.startswith(heard + rest)
    assert len(heard + rest) < len(undisturbed)
    assert (whole.status, json.loads(body)["error"]["code"]) == (503, "generation_changed")
    service.wait_ready()
    anew = service.pcm(TEXT, seed=1)
    assert len(anew) == pytest.approx(len(undisturbed), rel=0.01)
    assert anew[:20000] != undisturbed[:20000], "another model"


def test_a_worker_that_is_killed_during_a_reload_does_not_splice_two_models(service: Service, config: Path) -> None:
    undisturbed = service.pcm(TEXT, seed=1)
    config.write_text(POOL.format(rate_hz=16000))
    command = [sys.executable, "-m", "tts_service", "reload", "--runtime-dir", str(service.runtime_dir)]
    client = RawClient(service)
    client.speech(TEXT, response_format="pcm", stream=True, seed=1)
    answer = client.answer()
    reload = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    kill_busy_worker(service)
    heard, ended = rest_of(answer)
    client.socket.close()
    said, _ = reload.communicate(timeout=60)
    assert heard == undisturbed if ended else undisturbed.startswith(heard)
    assert service.pcm(TEXT, seed=1)[:20000] != undisturbed[:20000], said
