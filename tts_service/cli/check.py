"""`tts-service check`: are the settings right, and which are in effect?"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from tts_service.cli.options import read_settings, runtime_dir_of, settings_flags
from tts_service.settings.document import default_toml, effective_toml
from tts_service.settings.keys import keys


@click.command("check")
@settings_flags("gateway", "pool", "runtime")
@click.option("--keys", "list_keys", is_flag=True, help="List every key with its environment variable.")
@click.option("--defaults", is_flag=True, help="Print the commented default settings file.")
def command(config: Path | None, list_keys: bool, defaults: bool, **flags: Any) -> None:
    """Check settings, engine options and CPUs; print the settings in effect, as TOML, and where each comes from."""
    if defaults:
        click.echo(default_toml(), nl=False)
        return
    loaded = read_settings(config, **flags)
    if list_keys:
        for key in keys(list(loaded.settings.pools)):
            click.echo(f"{key.dotted:40} {key.env}")
        return

    from tts_service.gateway.api_keys import KeyRing
    from tts_workers.plan import make_plan
    from tts_workers.sysfs import read_machine

    KeyRing.of(loaded.settings.gateway, os.environ)
    plan = make_plan(loaded.settings, runtime_dir_of(loaded), read_machine(set(os.sched_getaffinity(0))))
    click.echo(effective_toml(loaded), nl=False)
    for spec in plan.specs:
        cpus = ", ".join(map(str, spec.cpus))
        threads = f"{spec.n_threads} thread{'s' * (spec.n_threads > 1)}"
        click.echo(f"# worker {spec.index}: pool {spec.pool}, {threads} on CPUs {cpus}")
    click.echo("# settings are valid", err=True)
