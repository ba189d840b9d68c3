"""The halves of a service as children: they find the same settings, and are started again where that helps."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.service import wait_until
from tts_service.cli.halves import FIRST_BACKOFF_S, GOOD_LIFE_S, MAX_BACKOFF_S, Half, child_environment
from tts_service.errors import ExitCode
from tts_service.runtime_dir import RuntimeDir
from tts_service.settings import load

FLAGS = {"gateway.port": "0", "pool.engine": "tone", "pool.workers": "3", "pool.models": "/a b/ü"}


def test_a_child_finds_the_settings_of_its_parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "my.toml"
    path.write_text("[pools.my-pool]\nslots = 5\n")
    monkeypatch.setenv("TTS_SERVICE_GATEWAY_THREADS", "99")
    loaded = load(path, os.environ, FLAGS)
    environment = child_environment(loaded, path, RuntimeDir(tmp_path / "run"))
    child = load(None, environment, {}).settings
    assert child.service.runtime_dir == str(tmp_path / "run")
    assert (child.gateway, child.workers, child.pools) == (
        loaded.settings.gateway,
        loaded.settings.workers,
        loaded.settings.pools,
    )
    assert child.pools["my-pool"].workers == 3


def test_a_child_finds_a_file_that_was_named_by_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my.toml").write_text("[gateway]\nport = 1\n")
    environment = child_environment(load(Path("my.toml"), {}, {}), Path("my.toml"), RuntimeDir(tmp_path))
    assert environment["TTS_SERVICE_CONFIG"] == str(tmp_path / "my.toml")


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Half]]:
    """Return a function that makes a half which runs some Python instead of `tts-service NAME`."""
    halves: list[Half] = []

    def make(code: str) -> Half:
        # `python -m tts_service NAME ...` becomes `python -m tts_service ...` of this folder.
        (tmp_path / "tts_service.py").write_text(code)
        monkeypatch.chdir(tmp_path)
        half = Half("name", [], dict(os.environ) | {"PYTHONPATH": str(tmp_path)})
        halves.append(half)
        return half

    yield make
    for half in halves:
        half.stop(0.0, kill=True)


def ended(half: Half, now: float) -> ExitCode | None:
    """Wait until the half's process has ended, and tend it then."""
    process = half._process
    assert process is not None
    process.wait(10.0)
    return half.tend(now)


def test_a_half_is_told_its_parent(script: Callable[[str], Half], capfd: pytest.CaptureFixture[str]) -> None:
    half = script("import sys; print(sys.argv[1:], flush=True); sys.stdin.read(); sys.exit(64)")
    half.start()
    assert ended(half, 0.0) is ExitCode.USAGE
    assert capfd.readouterr().out == f"['name', '--parent-pid', '{os.getpid()}']\n"


@pytest.mark.parametrize("code", [64, 70, 71, 78])
def test_an_end_that_a_restart_cannot_mend_is_final(script: Callable[[str], Half], code: int) -> None:
    half = script(f"import sys; sys.exit({code})")
    half.start()
    assert ended(half, 0.0) == code
    assert half.pid == 0


@pytest.mark.parametrize("code", [0, 1, 75])
def test_any_other_end_is_followed_by_a_new_life_after_a_pause(script: Callable[[str], Half], code: int) -> None:
    half = script(f"import sys; sys.exit({code})")
    half.start()
    now = half._started_s
    assert ended(half, now) is None
    half.tend(now + FIRST_BACKOFF_S - 0.01)
    assert half.pid == 0
    half.tend(now + FIRST_BACKOFF_S)
    assert half.pid != 0


def test_the_pause_grows_with_every_short_life_up_to_a_limit(script: Callable[[str], Half]) -> None:
    half = script("import sys; sys.exit(1)")
    half.start()
    now = half._started_s
    pauses = []
    for _ in range(7):
        ended(half, now)
        pauses.append(half._start_at_s - now)
        now = half._start_at_s
        half.tend(now)
        # Lives begin at the test's time, not at the machine's.
        half._started_s = now
    assert pauses == pytest.approx([min(MAX_BACKOFF_S, FIRST_BACKOFF_S * 2**n) for n in range(7)])


def test_a_half_that_has_lived_long_starts_again_at_once(script: Callable[[str], Half]) -> None:
    half = script("import sys; sys.exit(1)")
    half.start()
    assert ended(half, half._started_s + GOOD_LIFE_S + 1) is None
    assert half.pid != 0


def test_a_half_is_stopped_by_a_signal_that_it_can_follow(script: Callable[[str], Half], tmp_path: Path) -> None:
    half = script(
        "import pathlib, signal, sys\n"
        "signal.signal(signal.SIGTERM, lambda *_: (pathlib.Path('stopped').touch(), sys.exit(0)))\n"
        "pathlib.Path('ready').touch()\nsignal.pause()"
    )
    half.start()
    wait_until((tmp_path / "ready").exists, 10.0, "the start")
    half.stop(10.0)
    assert (tmp_path / "stopped").exists()
    assert half.pid == 0


@pytest.mark.parametrize("kill", [False, True])
def test_a_half_that_does_not_stop_is_killed(script: Callable[[str], Half], tmp_path: Path, kill: bool) -> None:
    half = script(
        "import pathlib, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "pathlib.Path('ready').touch()\ntime.sleep(600)"
    )
    half.start()
    wait_until((tmp_path / "ready").exists, 10.0, "the start")
    process = half._process
    assert process is not None
    half.stop(600.0 if kill else 0.05, kill=kill)
    assert process.returncode == -signal.SIGKILL


def test_stopping_what_does_not_run_is_nothing(script: Callable[[str], Half]) -> None:
    half = script("")
    half.stop(10.0)
    assert half.pid == 0
