"""Which server a scenario measures: one that runs, or its own, started with the pool flags given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tts_service.bench.own_server import own_server


@dataclass(frozen=True)
class Server:
    """A server that answers."""

    url: str
    pid: int
    """Of its top process where this command started it, else 0."""


@dataclass(frozen=True)
class Target:
    """What the command line says about the server."""

    url: str | None = None
    config: Path | None = None
    flags: Mapping[str, str] = field(default_factory=dict)
    """Pool flags for an own server: "engine", "workers", "threads" ..."""

    @contextmanager
    def server(self, environment: Mapping[str, str] | None = None, /, **flags: str) -> Iterator[Server]:
        """Give the server; an own one gets this environment and these pool flags on top, and is ended afterwards."""
        if self.url is not None:
            yield Server(self.url, 0)
            return
        arguments = [f"--{name}={value}" for name, value in {**self.flags, **flags}.items()]
        if self.config is not None:
            arguments.append(f"--config={self.config}")
        with own_server(arguments, environment or {}) as (url, pid):
            yield Server(url, pid)
