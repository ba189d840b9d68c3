"""The settings of a server that a scenario starts for itself, as an environment."""

from __future__ import annotations

import os
from collections.abc import Mapping

import click

from tts_service.bench.target import Target
from tts_service.errors import UsageError
from tts_service.settings import Loaded, load
from tts_service.settings.keys import keys

# A step of the tone engine makes a quarter of a second of audio: at this cost five seconds of audio a second.
STEP_COST_S = 0.05


def tone_options(step_cost_s: float = STEP_COST_S) -> list[click.Option]:
    """Return the options that say what a step of the tone engine takes, where nothing else gives its options."""
    return [
        click.Option(["--step-cost"], type=click.FloatRange(0, 10), default=step_cost_s, show_default=True,
                     help="CPU seconds of a step of the tone engine, where nothing else gives its options."),
        click.Option(["--step-wait"], type=click.FloatRange(0, 10), default=0.0, show_default=True,
                     help="Seconds of its step in which it does nothing."),
    ]  # fmt: skip


def tone_values(step_cost: float, step_wait: float) -> dict[str, float]:
    """Return the engine's options from the values of these."""
    return {"step_cost_s": step_cost, "step_wait_s": step_wait}


def environment_of(
    target: Target,
    settings: Mapping[str, str],
    *,
    unless_said: Mapping[str, str] | None = None,
    tone: Mapping[str, float] | None = None,
) -> dict[str, str]:
    """Return the environment of a server with these settings; "pool.NAME" is that key of the only pool.

    `unless_said` are settings that the user's file, environment and flags overrule. Where none of them names an engine
    it is tone, and where none gives tone its options it has those in `tone`.
    """
    loaded = _loaded(target, {})
    (pool,) = loaded.settings.pools if len(loaded.settings.pools) == 1 else ("",)
    if not pool:
        raise UsageError("this scenario measures a service of one pool; name a --config with one")
    said = {dotted.replace(f"pools.{pool}.", "pool.") for dotted in loaded.origins}
    engine: str = loaded.settings.pools[pool].engine if "pool.engine" in said else "tone"
    chosen = {"pool.engine": engine}
    if engine == "tone":
        chosen["pool.options"] = "{" + ", ".join(f"{name} = {value}" for name, value in (tone or {}).items()) + "}"
    chosen |= unless_said or {}
    wanted = {key: value for key, value in chosen.items() if key not in said} | dict(settings)
    variables = {key.dotted: key.env for key in keys([pool])}
    return {variables[key.replace("pool.", f"pools.{pool}.", 1)]: value for key, value in wanted.items()}


def engine_of(target: Target, environment: Mapping[str, str]) -> str:
    """Return a few words about what such a server speaks with."""
    (pool,) = _loaded(target, environment).settings.pools.values()
    options = ", ".join(f"{name} {value}" for name, value in pool.options.items())
    return f"{pool.engine} ({options})" if options else pool.engine


def _loaded(target: Target, environment: Mapping[str, str]) -> Loaded:
    flags = {f"pool.{name}": value for name, value in target.flags.items()}
    return load(target.config, {**os.environ, **environment}, flags)


def must_be_own(target: Target, why: str) -> None:
    """Raise UsageError where the command line names a server that runs already."""
    if target.url is not None:
        raise UsageError(f"this scenario {why}, so it starts its own; leave out --url")
