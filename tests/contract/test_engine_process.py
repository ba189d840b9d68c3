"""The process that an engine runs in: constant threads, flat memory, the same bytes, and no contact with anybody."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import support.engine_probe
from support.engine_cases import TEXTS, EngineCase, job_for, speak
from tts_workers.engines import Engine
from tts_workers.spec import worker_environment

pytestmark = pytest.mark.system

GROWTH_KIB = 2048
"""What two thirds of the jobs may add to the memory: for 100 jobs 21 KiB each, where one's samples alone are more."""


@dataclass
class Probe:
    """What a process with one engine in it has told of itself."""

    threads: list[int]
    """After the warm-up, and after each third of the jobs."""
    rss_kib: list[int]
    """After each third of the jobs."""
    digest: str
    attempts: list[str]
    """To connect, to resolve a name, to write a file."""
    sockets: int


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home and working directory of all probes."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def probe(case: EngineCase, home: Path, engine: Engine) -> Probe:
    """One process for each engine, set up as a worker's is; the engine has been loaded once, and its caches filled."""
    places = dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"), str(home))
    environment = worker_environment(dict(os.environ), case.n_threads) | places
    program = Path(support.engine_probe.__file__)
    ended = subprocess.run(
        [sys.executable, str(program), case.name],
        env=environment | {"PYTHONPATH": str(program.parents[1]), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return Probe(**json.loads(ended.stdout))


def test_threads_are_those_of_its_budget_and_stay_so(probe: Probe, case: EngineCase) -> None:
    assert probe.threads == [case.expected_threads] * 4


def test_memory_is_flat_after_the_first_jobs(probe: Probe) -> None:
    assert probe.rss_kib[2] - probe.rss_kib[0] < GROWTH_KIB, probe.rss_kib


def test_a_fresh_process_makes_the_same_bytes(probe: Probe, engine: Engine) -> None:
    digest = hashlib.sha256()
    for n, text in enumerate(sorted(TEXTS, key=len, reverse=True)):
        digest.update(speak(engine, job_for(engine, text, seed=n % 3)).samples.tobytes())
    assert probe.digest == digest.hexdigest()


def test_it_neither_talks_to_anybody_nor_writes_anything(probe: Probe, home: Path) -> None:
    assert probe.attempts == []
    assert probe.sockets == 0
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("event", "arguments"),
    [
        ("open", ("/x", "w", os.O_WRONLY | os.O_CREAT)),
        ("open", ("/x", None, os.O_RDWR)),
        ("socket.connect", (None, ("10.0.0.1", 80))),
        ("socket.getaddrinfo", ("huggingface.co", 443, 0, 0, 0)),
        ("os.mkdir", ("/x", 0o777, -1)),
    ],
)
def test_the_probe_would_have_noticed(event: str, arguments: tuple[object, ...], monkeypatch: Any) -> None:
    attempts: list[str] = []
    monkeypatch.setattr(support.engine_probe, "attempts", attempts)
    support.engine_probe._note("open", ("/x", "r", os.O_RDONLY | os.O_CLOEXEC))
    assert attempts == []
    support.engine_probe._note(event, arguments)
    assert len(attempts) == 1
