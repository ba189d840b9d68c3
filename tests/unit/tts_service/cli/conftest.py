"""Runs commands in this process, without any settings of the environment in which the tests run."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

import pytest

from tts_service.cli.main import run


class Ran(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """The one line on stderr of a command that failed; click ends the line of a ^C before it."""
        assert self.err.endswith("\n")
        (line,) = self.err.strip("\n").splitlines()
        assert line.startswith("tts-service: error: ")
        return line.removeprefix("tts-service: error: ")


Command = Callable[..., Ran]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Return a function that runs a command line and returns its exit code and output."""
    for name in [name for name in os.environ if name.startswith("TTS_SERVICE_")]:
        monkeypatch.delenv(name)

    def run_command(*arguments: str) -> Ran:
        capsys.readouterr()
        code = run(list(arguments))
        return Ran(code, *capsys.readouterr())

    return run_command
