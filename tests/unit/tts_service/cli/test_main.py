"""The command line: named exit codes, one line for an error, help without loading anything."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest

from tts_service import __version__
from tts_service.cli import main as main_module
from tts_service.errors import (
    CannotStart,
    Code,
    EngineBroken,
    ExitCode,
    RequestFailed,
    SettingsError,
    StaleVersion,
    Unavailable,
    UsageError,
)

Command = Callable[..., Any]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch, command: Command) -> Callable[[BaseException], Any]:
    """Return a function that runs a command which raises."""

    def run_failing(error: BaseException) -> Any:
        @click.command("fails")
        def fails() -> None:
            raise error

        monkeypatch.setattr(main_module.LazyGroup, "get_command", lambda self, context, name: fails)
        return command("fails")

    return run_failing


@pytest.mark.parametrize("flag", ["--version"])
def test_the_version_is_printed(command: Command, flag: str) -> None:
    assert command(flag) == (ExitCode.OK, f"tts-service, version {__version__}\n", "")


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], []])
def test_help_lists_every_command_and_succeeds(command: Command, arguments: list[str]) -> None:
    ran = command(*arguments)
    assert ran.code == ExitCode.OK
    assert ran.err == ""
    for name, about in main_module._COMMANDS.items():
        assert f"  {name} " in ran.out
        assert about in ran.out


def test_help_and_version_load_no_command() -> None:
    code = (
        "import sys; from tts_service.cli.main import run; run(['--help']); run(['--version']);"
        "heavy = {'flask', 'zmq', 'numpy', 'tts_workers', 'tts_service.settings'};"
        "sys.exit(len(heavy & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=False).returncode == 0


@pytest.mark.parametrize("name", main_module._COMMANDS)
def test_every_command_that_is_listed_exists_and_explains_itself(command: Command, name: str) -> None:
    assert import_module("tts_service.cli." + name.replace("-", "_")).command.name == name
    ran = command(name, "--help")
    assert ran.code == ExitCode.OK
    assert ran.out.startswith("Usage: ")
    assert f" {name} " in ran.out.splitlines()[0]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["speak"], "'speak'"),
        (["check", "--no-such-flag"], "--no-such-flag"),
        (["check", "surplus"], "surplus"),
        (["say"], "TEXT"),
        (["serve", "--port"], "--port"),
        (["--no-such-flag"], "--no-such-flag"),
    ],
)
def test_a_command_line_that_cannot_be_is_a_usage_error_in_one_line(
    command: Command, arguments: list[str], part: str
) -> None:
    ran = command(*arguments)
    assert (ran.code, ran.out) == (ExitCode.USAGE, "")
    assert part in ran.complaint
    assert "--help" in ran.complaint


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("told so"), 64),
        (SettingsError("told so"), 78),
        (CannotStart("told so"), 71),
        (Unavailable("told so"), 69),
        (EngineBroken("told so"), 70),
        (StaleVersion("told so"), 75),
        (RequestFailed(Code.TEXT_TOO_LONG, "told so"), 65),
        (RequestFailed(Code.VOICE_NOT_FOUND, "told so"), 65),
        (RequestFailed(Code.QUEUE_FULL, "told so"), 69),
        (RequestFailed(Code.ENGINE_FAILED, "told so"), 69),
    ],
)
def test_every_error_is_one_line_and_has_its_exit_code(
    failing: Callable[[BaseException], Any], error: Exception, code: int
) -> None:
    ran = failing(error)
    assert (ran.code, ran.complaint, ran.out) == (code, "told so", "")


def test_an_error_of_the_system_names_the_file(failing: Callable[[BaseException], Any], tmp_path: Path) -> None:
    with pytest.raises(OSError) as caught:
        tmp_path.joinpath("missing", "file").write_bytes(b"")
    ran = failing(caught.value)
    assert ran.code == ExitCode.CANNOT_WRITE
    assert ran.complaint == f"{tmp_path}/missing/file: No such file or directory"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()])
def test_an_interruption_is_one_line(failing: Callable[[BaseException], Any], error: BaseException) -> None:
    ran = failing(error)
    assert (ran.code, ran.complaint) == (ExitCode.FAILED, "interrupted")


def test_a_bug_is_no_complaint_but_a_traceback(failing: Callable[[BaseException], Any]) -> None:
    with pytest.raises(KeyError):
        failing(KeyError("bug"))


def test_a_reader_that_has_left_is_no_traceback() -> None:
    command = [sys.executable, "-m", "tts_service", "check", "--defaults"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(10.0) == ExitCode.FAILED


@pytest.mark.parametrize("name", ["check", "plan"])
def test_a_wrong_setting_is_refused_by_the_commands_that_have_it(command: Command, name: str) -> None:
    ran = command(name, "--workers", "many")
    assert ran.code == ExitCode.BAD_SETTINGS
    assert ran.complaint.startswith("command line: pools.default.workers = 'many': expected a whole number")


def test_a_port_in_use_is_one_clear_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        arguments = ["serve", "--engine", "tone", "--workers", "1", "--port", port, "--runtime-dir", str(tmp_path)]
        # Another process: `serve` gives its own a name and a log.
        done = subprocess.run(
            [sys.executable, "-m", "tts_service", *arguments], capture_output=True, text=True, timeout=20.0, check=False
        )
    assert (done.returncode, done.stdout) == (ExitCode.CANNOT_START, "")
    assert done.stderr.startswith(f"tts-service: error: cannot listen on 127.0.0.1 port {port}: Address already in use")
    assert done.stderr.endswith("; choose another --port\n")
    assert done.stderr.count("\n") == 1


def test_the_module_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "tts_service", "speak"], capture_output=True, text=True, check=False)
    assert done.returncode == ExitCode.USAGE
    assert done.stderr.count("\n") == 1
