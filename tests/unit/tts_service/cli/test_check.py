"""`tts-service check`: what is in effect, where it comes from, and whether it can work."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tts_service.errors import ExitCode
from tts_service.settings import load
from tts_service.settings.document import default_toml

Command = Callable[..., Any]
TONE = ("--engine", "tone", "--workers", "1", "--threads", "1")


def test_the_settings_in_effect_are_printed_as_toml_with_their_origins(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "my.toml"
    path.write_text("[gateway]\nthreads = 99\n")
    monkeypatch.setenv("TTS_SERVICE_WORKERS_HEARTBEAT_S", "0.5")
    ran = command("check", "--config", str(path), *TONE, "--port", "0")
    assert ran.code == ExitCode.OK
    assert ran.err == "# settings are valid\n"
    assert f"threads = 99  # {path}\n" in ran.out
    assert "heartbeat_s = 0.5  # environment TTS_SERVICE_WORKERS_HEARTBEAT_S\n" in ran.out
    assert "port = 0  # command line\n" in ran.out
    tree = tomllib.loads(ran.out)
    assert tree["pools"]["default"]["engine"] == "tone"


def test_what_check_prints_is_a_file_with_the_same_settings(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "effective.toml"
    path.write_text(command("check", *TONE, "--port", "1234").out)
    expected = load(None, {}, {"pool.engine": "tone", "pool.workers": 1, "pool.threads": 1, "gateway.port": 1234})
    assert load(path, {}, {}).settings == expected.settings


def test_the_cpus_of_every_worker_are_told(command: Command) -> None:
    out = command("check", *TONE).out
    assert out.count("# worker ") == 1
    told = out.partition("# worker 0: pool default, 1 thread on CPUs ")[2].strip()
    assert int(told) in os.sched_getaffinity(0)


def test_the_default_file_is_printed_as_it_is(command: Command) -> None:
    assert command("check", "--defaults") == (ExitCode.OK, default_toml(), "")


def test_every_key_is_listed_with_its_variable(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "two.toml"
    path.write_text("[pools.fast]\n[pools.good-one]\n")
    out = command("check", "--keys", "--config", str(path)).out
    listed = dict(line.split() for line in out.splitlines())
    assert listed["gateway.port"] == "TTS_SERVICE_GATEWAY_PORT"
    assert listed["pools.good-one.engine"] == "TTS_SERVICE_POOLS_GOOD_ONE_ENGINE"
    assert "pools.default.engine" not in listed


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[gateway]\nport = 70000", "gateway.port = 70000: expected a whole number from 0 to 65535"),
        ("[gateway]\nprot = 1", "unknown key gateway.prot"),
        ("[pools.default]\nengine = 'tone'\noptions = {speed = 1}", "speed"),
        ("[pools.default]\nengine = 'tone'\nmodels = '/no/such/directory'", "/no/such/directory"),
        ("[workers]\ncpus = '3-1'\n[pools.default]\nengine = 'tone'", "workers.cpus = '3-1'"),
    ],
)
def test_settings_that_cannot_work_are_refused(command: Command, tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    ran = command("check", "--config", str(path))
    assert ran.code == ExitCode.BAD_SETTINGS
    assert part in ran.complaint
    assert ran.out == ""


def test_more_workers_than_there_are_cpus_are_refused(command: Command) -> None:
    ran = command("check", "--engine", "tone", "--workers", "1000", "--threads", "8")
    assert ran.code == ExitCode.CANNOT_START
    assert "CPUs" in ran.complaint
