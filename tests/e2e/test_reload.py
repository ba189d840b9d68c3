"""New settings and voices for a service that runs: its workers are replaced one by one, and no request notices."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.load import at_once
from support.service import Service, running, wait_until
from tts_service.errors import ExitCode

pytestmark = pytest.mark.system

TEXT = "This is a sentence of the story. And here is one more of it! "
POOL = '[workers]\nload_timeout_s = 2\n[pools.default]\nengine = "tone"\nworkers = 2\noptions = {step_cost_s = 0.01}\n'


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The settings file of `service`."""
    path = tmp_path / "config.toml"
    path.write_text(POOL)
    return path


@pytest.fixture
def service(config: Path) -> Iterator[Service]:
    """Two workers that make 25 seconds of audio a second."""
    with running("--config", str(config)) as service:
        yield service


def reload(service: Service) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tts_service", "reload", "--runtime-dir", str(service.runtime_dir)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def pids(service: Service) -> list[int]:
    return [worker["pid"] for worker in service.workers()]


def test_workers_are_replaced_one_by_one_and_every_request_is_answered_alike(service: Service) -> None:
    before = pids(service)
    expected = service.pcm(TEXT, seed=1)
    done = threading.Event()
    n_warm: list[int] = []

    def watch() -> None:
        while not done.wait(0.02):
            n_warm.append(sum(worker["state"] == "ready" for worker in service.workers()))

    def ask(_: int) -> list[bytes]:
        answers = [service.pcm(TEXT, seed=1)]
        while not done.is_set():
            answers.append(service.pcm(TEXT, seed=1, stream=len(answers) % 2 == 0))
        return answers

    def roll() -> None:
        try:
            result = reload(service)
            assert result.returncode == 0, result.stderr
        finally:
            done.set()

    watcher = threading.Thread(target=watch)
    roller = threading.Thread(target=roll)
    watcher.start()
    roller.start()
    answers = [answer for found in at_once(ask, range(4)) for answer in found]
    watcher.join()
    roller.join()
    assert set(answers) == {expected}
    assert not set(pids(service)) & set(before)
    assert [worker["exits"] for worker in service.workers()] == [{"reload": 1}] * 2
    assert min(n_warm) == 1
    assert service.text_of_log().count("reloaded") == 1


def test_a_reload_takes_what_can_change_for_the_whole_pool(service: Service, config: Path) -> None:
    config.write_text(POOL + 'default_voice = "hz900"\ndefault_seed = 7\n')
    assert reload(service).returncode == 0
    wait_until(lambda: service.get("/v1/models")[1]["data"][0]["default_voice"] == "hz900", 5.0, "the new voice")
    answer, _ = service.speak("Which voice is it?", response_format="pcm")
    assert answer.headers["x-seed"] == "7"


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ("workers = 1", "pools.default.workers = 1: expected 2"),
        ("slots = 0", "pools.default.slots"),
        ("no_such_key = 1", "no_such_key"),
        ("options = {stepping = 'sideways'}", "sideways"),
    ],
)
def test_a_reload_that_cannot_be_is_refused_in_one_line_and_changes_nothing(
    service: Service, config: Path, change: str, part: str
) -> None:
    before = pids(service)
    kept = [line for line in POOL.splitlines() if not line.startswith(change.partition(" ")[0])]
    config.write_text("\n".join([*kept, change]))
    result = reload(service)
    assert result.returncode == ExitCode.FAILED
    (line,) = result.stderr.splitlines()
    assert part in line
    assert "everything goes on as before" in line
    assert pids(service) == before
    assert service.pcm(TEXT)


def test_where_a_successor_does_not_come_up_what_was_before_goes_on(service: Service, config: Path) -> None:
    expected = service.pcm(TEXT, seed=3)
    untouched = pids(service)[1]
    config.write_text(POOL.replace("{step_cost_s", "{load_s = 600, step_cost_s"))
    result = reload(service)
    assert result.returncode == ExitCode.FAILED
    assert "going back to what was before" in result.stderr
    assert [worker["state"] for worker in service.workers()] == ["ready", "ready"]
    assert pids(service)[1] == untouched
    assert service.pcm(TEXT, seed=3) == expected


def test_a_reload_of_a_service_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tts_service", "reload", "--runtime-dir", str(tmp_path / "none")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=dict(os.environ))
    assert result.returncode == ExitCode.UNAVAILABLE
    assert len(result.stderr.splitlines()) == 1
