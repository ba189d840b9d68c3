"""`tts-service workers`: the synthesis half alone."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import click

from tts_service.cli.options import read_settings, runtime_dir_of, settings_flags
from tts_service.log import set_up
from tts_service.orphans import die_with_parent, name_process


@click.command("workers")
@settings_flags("pool", "runtime")
@click.option("--parent-pid", type=int, hidden=True)
def command(config: Path | None, parent_pid: int | None, **flags: Any) -> int:
    """Start the synthesis processes and hand them the jobs of the gateways."""
    if parent_pid is not None:
        die_with_parent(parent_pid, signal.SIGKILL)
    name_process("tts-workers")
    loaded = read_settings(config, **flags)
    set_up(loaded.settings.service.log_level, "workers")

    from tts_workers.half import run

    return run(loaded.settings, runtime_dir_of(loaded), lambda: read_settings(config, **flags).settings)
