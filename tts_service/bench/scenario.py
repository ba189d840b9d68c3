"""What a scenario is, and what it returns."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import click
import msgspec

from tts_service import __version__
from tts_service.bench.target import Target

Step = Callable[[], None]


@dataclass(frozen=True)
class Table:
    """A table for the terminal."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


class About(msgspec.Struct, frozen=True):
    """Where and with what a result was measured."""

    version: str
    python: str
    machine: str
    n_cpus: int
    """CPUs that the measuring process may use."""
    url: str
    """Of the server; empty where the command started its own."""

    @classmethod
    def here(cls, url: str | None) -> About:
        """Return the facts of this machine."""
        n_cpus = len(os.sched_getaffinity(0))
        return cls(__version__, platform.python_version(), platform.machine(), n_cpus, url or "")


class Result(Protocol):
    """What a scenario has measured: a msgspec.Struct, so that it is JSON, too."""

    def faults(self) -> list[str]:
        """Return what should have held and did not, a line each; [] where all did."""

    def tables(self) -> list[Table]:
        """Return the figures to be shown."""

    def draw(self, figure: Any) -> None:
        """Draw into an empty matplotlib Figure."""


class Scenario(Protocol):
    """One measurement. The constructor takes the values of `options` by name.

    A class that needs nothing but speech says so with `any_server = True`, and has the options of peer_options.py, too.
    """

    options: ClassVar[list[click.Option]]

    def __init__(self, **values: Any) -> None: ...

    def run(self, target: Target, progress: Progress) -> Result:
        """Measure."""


class Progress(Protocol):
    """Shows how far a measurement has come."""

    def begin(self, text: str, n_steps: int) -> Step:
        """Start a part of the measurement; what is returned is to be called after each of its steps."""
