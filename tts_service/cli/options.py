"""Flags that several commands share, and how they become settings."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tts_service.runtime_dir import RuntimeDir
from tts_service.settings import Loaded, load

F = TypeVar("F", bound=Callable[..., Any])

# Flag, key of the setting, help.
_FLAGS: dict[str, list[tuple[str, str, str]]] = {
    "config": [],
    "runtime": [("--runtime-dir", "service.runtime_dir", "Directory of the sockets between the halves.")],
    "gateway": [
        ("--host", "gateway.host", "Address to listen on."),
        ("--port", "gateway.port", "Port to listen on; 0 takes a free one."),
    ],
    "cache": [
        ("--cache-dir", "gateway.cache_dir", "Directory of the cache."),
        ("--cache-mib", "gateway.cache_mib", "Size of the cache."),
    ],
    "pool": [
        ("--engine", "pool.engine", "What synthesizes: hibari, piper or tone."),
        ("--models", "pool.models", "Directory of model files."),
        ("--workers", "pool.workers", "Synthesis processes; 0 for as many as the CPUs carry."),
        ("--threads", "pool.threads", "Threads of each process; 0 for what the engine prefers."),
        ("--slots", "pool.slots", "Segments in progress in each process."),
    ],
}


def settings_flags(*groups: str) -> Callable[[F], F]:
    """Give a command --config and the flags of these groups."""

    def decorate(function: F) -> F:
        for group in reversed(groups):
            for flag, key, text in reversed(_FLAGS[group]):
                function = click.option(flag, _parameter(key), metavar="VALUE", help=f"{text} [{key}]")(function)
        text = "Settings file (TOML); see config/default.toml for every key."
        return click.option("--config", type=click.Path(path_type=Path), help=text)(function)

    return decorate


def _parameter(key: str) -> str:
    return key.replace(".", "__")


def read_settings(config: Path | None, **flags: Any) -> Loaded:
    """Return the settings of a command that has `settings_flags`."""
    return load(config, os.environ, {name.replace("__", "."): value for name, value in flags.items()})


def runtime_dir_of(loaded: Loaded) -> RuntimeDir:
    """Return the runtime directory that the settings stand for."""
    return RuntimeDir.choose(loaded.settings.service.runtime_dir, os.environ)
