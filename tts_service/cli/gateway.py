"""`tts-service gateway`: the HTTP half alone."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import click

from tts_service.cli.options import read_settings, runtime_dir_of, settings_flags
from tts_service.log import set_up
from tts_service.orphans import die_with_parent, name_process


@click.command("gateway")
@settings_flags("gateway", "runtime")
@click.option("--listener-fd", type=int, hidden=True)
@click.option("--parent-pid", type=int, hidden=True)
def command(config: Path | None, listener_fd: int | None, parent_pid: int | None, **flags: Any) -> None:
    """Serve HTTP and forward to the workers of the same runtime directory."""
    if parent_pid is not None:
        die_with_parent(parent_pid, signal.SIGKILL)
    name_process("tts-gateway")
    loaded = read_settings(config, **flags)
    set_up(loaded.settings.service.log_level, "gateway")

    from tts_service.gateway.server import run

    run(loaded.settings, runtime_dir_of(loaded), listener_fd, lambda: read_settings(config, **flags).settings)
