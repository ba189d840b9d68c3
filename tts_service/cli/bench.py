"""`tts-service bench SCENARIO`: measure a server, show the figures, and say by the exit code whether they hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tts_service.bench.peer_options import peer_options, read_peer
from tts_service.bench.scenario import Scenario
from tts_service.bench.scenarios import scenario_class, summaries
from tts_service.cli.options import read_settings, settings_flags
from tts_service.errors import ExitCode, UsageError
from tts_service.log import set_up

_POOL = "pool__"


class ScenarioGroup(click.Group):
    """A command for each scenario of the table, imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the scenarios."""
        return list(summaries())

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return the command of a scenario, or None where there is none of that name."""
        return _command(name) if name in summaries() else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the scenarios without importing them."""
        with formatter.section("Scenarios"):
            formatter.write_dl(list(summaries().items()))


@click.group("bench", cls=ScenarioGroup)
def command() -> None:
    """Measure a server: the one at --url, or one that is started for it with the pool flags given."""


def _command(name: str) -> click.Command:
    scenario = scenario_class(name)

    @click.command(name, help=scenario.__doc__)
    @click.option("--url", help="Measure the server there instead of starting one.")
    @settings_flags("pool")
    @click.option("--json", type=click.Path(path_type=Path, dir_okay=False), help="Write all measurements there.")
    @click.option("--png", type=click.Path(path_type=Path, dir_okay=False), help="Write a plot there.")
    def run(url: str | None, config: Path | None, json: Path | None, png: Path | None, **values: Any) -> int:
        flags = {flag: value for flag in list(values) if flag.startswith(_POOL) and (value := values.pop(flag))}
        return _run(name, url, config, flags, values, json, png)

    run.params = [*scenario.options, *(peer_options() if _measures_any_server(scenario) else []), *run.params]
    return run


def _measures_any_server(scenario: type[Scenario]) -> bool:
    return bool(getattr(scenario, "any_server", False))


def _run(
    name: str,
    url: str | None,
    config: Path | None,
    flags: dict[str, str],
    values: dict[str, Any],
    json: Path | None,
    png: Path | None,
) -> int:
    from tts_service.bench.progress import ProgressBars
    from tts_service.bench.report import check_outputs, show, write_json, write_png
    from tts_service.bench.target import Target

    set_up("warning", "bench")
    if url is not None and (flags or config):
        given = "--config" if config else "--" + next(iter(flags)).removeprefix(_POOL)
        raise UsageError(f"{given} is for a server that this command starts; leave it out, or leave out --url")
    check_outputs(json, png)
    peer = read_peer(url, values)
    if url is None:
        # A wrong value is named here already, and not by the server that is started with it.
        read_settings(config, **flags)
    target = Target(url, config, {flag.removeprefix(_POOL): value for flag, value in flags.items()}, **peer)
    with ProgressBars() as progress:
        result = scenario_class(name)(**values).run(target, progress)
    if json is not None:
        write_json(result, json)
    if png is not None:
        write_png(result, png)
    show(result)
    return ExitCode.FAILED if result.faults() else ExitCode.OK
