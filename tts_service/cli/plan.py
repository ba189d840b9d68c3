"""`tts-service plan`: the machine as it is seen, and what runs where."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from tts_service.cli.options import read_settings, runtime_dir_of, settings_flags


@click.command("plan")
@settings_flags("pool")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def command(config: Path | None, as_json: bool, **flags: Any) -> None:
    """Show the machine's CPUs, which worker gets which, and what to know about it. Starts nothing."""
    loaded = read_settings(config, **flags)

    from tts_workers.plan import make_plan
    from tts_workers.plan_drawing import draw_plan, plan_as_json
    from tts_workers.sysfs import read_machine

    machine = read_machine(set(os.sched_getaffinity(0)))
    plan = make_plan(loaded.settings, runtime_dir_of(loaded), machine)
    click.echo(plan_as_json(machine, plan.cpu_plan) if as_json else draw_plan(machine, plan.cpu_plan))
