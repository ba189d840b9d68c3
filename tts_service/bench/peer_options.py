"""The options of `bench` by which scenarios measure servers of other makes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from tts_service.bench.apis import APIS
from tts_service.bench.speaker import Wanted
from tts_service.errors import UsageError

_APIS = "; ".join(f"{name}: {api.summary}" for name, api in APIS.items())
_NAMES = ("api", "pid", "voice", "model", "field")


def peer_options() -> list[click.Option]:
    """Return the options."""
    return [
        click.Option(["--api"], type=click.Choice(list(APIS)), default="openai", show_default=True,
                     help=f"Of the server at --url. {_APIS}."),
        click.Option(["--pid"], type=click.IntRange(1), help="Of the server at --url, where it is on this machine: its "
                     "CPU time, memory and threads are read with those of all processes below it."),
        click.Option(["--voice"], help="For every request. Default: the server's."),
        click.Option(["--model"], help="For every request. Default: the server's."),
        click.Option(["--field"], multiple=True, metavar="NAME=VALUE", help="Another field of every OpenAI-style "
                     "request; a value that is JSON is sent as such. May be repeated."),
    ]  # fmt: skip


def read_peer(url: str | None, values: dict[str, Any]) -> dict[str, Any]:
    """Take the options' values out of `values` and return the fields of a Target. UsageError where they are wrong."""
    api, pid, voice, model, fields = (values.pop(name, None) for name in _NAMES)
    if url is None and (api or "openai") != "openai":
        raise UsageError(f"--api {api} is for a server that runs already; name it with --url")
    if pid is not None:
        if url is None:
            raise UsageError(f"--pid {pid} is for a server that runs already; name it with --url")
        if not Path(f"/proc/{pid}/stat").exists():
            raise UsageError(f"--pid {pid}: there is no such process")
    wanted = Wanted(voice=voice or "", model=model or "", fields=dict(map(_field, fields or ())))
    if wanted.fields and (api or "openai") not in ("openai", "tts-server"):
        raise UsageError(f"--field {next(iter(wanted.fields))}: the API {api} has no such fields")
    return {"api": api or "openai", "pid": pid or 0, "wanted": wanted}


def _field(text: str) -> tuple[str, Any]:
    name, separator, value = text.partition("=")
    if not name or not separator:
        raise UsageError(f"--field {text}: expected NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
