"""Which server a scenario measures: one that runs, of any API, or its own, started with the pool flags given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tts_service.bench.own_server import own_server
from tts_service.bench.speaker import Wanted


@dataclass(frozen=True)
class Server:
    """A server that answers."""

    url: str
    pid: int
    """Of its top process where this command started it or was told it, else 0."""
    api: str = "openai"
    """How to talk to it: a name in apis.py."""


@dataclass(frozen=True)
class Target:
    """What the command line says about the server."""

    url: str | None = None
    config: Path | None = None
    flags: Mapping[str, str] = field(default_factory=dict)
    """Pool flags for an own server: "engine", "workers", "threads" ..."""
    api: str = "openai"
    pid: int = 0
    """Of the server at `url`, where it is on this machine and the user has said it."""
    wanted: Wanted = field(default_factory=Wanted)
    """Voice, model and fields of every request; each scenario adds format and way."""

    @contextmanager
    def server(self, environment: Mapping[str, str] | None = None, /, **flags: str) -> Iterator[Server]:
        """Give the server; an own one gets this environment and these pool flags on top, and is ended afterwards."""
        if self.url is not None:
            yield Server(self.url, self.pid, self.api)
            return
        arguments = [f"--{name}={value}" for name, value in {**self.flags, **flags}.items()]
        if self.config is not None:
            arguments.append(f"--config={self.config}")
        with own_server(arguments, environment or {}) as (url, pid):
            yield Server(url, pid)
