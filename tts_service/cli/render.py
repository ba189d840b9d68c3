"""`tts-service render`: a list of phrases into the cache, so that a server need not speak them any more."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tts_service.cli.options import read_settings, settings_flags
from tts_service.errors import RequestFailed, UsageError
from tts_service.log import set_up

if TYPE_CHECKING:
    from tts_service.cli.phrases import Outcome, Phrase
    from tts_service.cli.renderers import LocalRenderer, ServerRenderer
    from tts_service.settings import Loaded

# Requests to a server at a time; it has its own callers, too.
REQUESTS_AT_A_TIME = 4
# How often the main thread looks after its workers.
LOOK_S = 0.2


@click.command("render")
@click.argument("phrases")
@click.option("--voice", help="Voice id; default: the pool's.")
@click.option("--model", help="Pool that speaks; default: the one that has the voice.")
@click.option("--seed", type=int, help="Fixes the random part; default: the pool's.")
@click.option("--speed", type=float, help="Speaking rate, 1 is the voice's own.")
@click.option("--language", help="BCP 47 tag; default: the voice's own.")
@click.option("--sample-rate", type=int, help="Hz of the files in --out; the cache serves every rate.")
@click.option("--out", type=click.Path(path_type=Path), help="Also write LINE.wav for each phrase into this directory.")
@click.option("--url", help="Have the server there speak, into its cache, instead of starting workers.")
@settings_flags("cache", "pool")
def command(phrases: str, url: str | None, out: Path | None, config: Path | None, **flags: Any) -> int:
    """Speak every line of the file PHRASES ("-": standard input) into the cache.

    Give the settings of the server that shall find them: voice, speed, seed, language, engine and threads count.
    """
    from tts_service.cli.phrases import exit_code, read_phrases, summary

    set_up("warning", "render")
    names = ("voice", "model", "seed", "speed", "language", "sample_rate")
    fields = {name: value for name in names if (value := flags.pop(name)) is not None}
    if fields.get("seed", 0) < 0 and out is None:
        raise UsageError(f"--seed {fields['seed']}: random seeds are not kept; give a number from 0, or --out")
    loaded = read_settings(config, **flags)
    wanted = read_phrases(phrases)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    with _renderer(url, fields, loaded, config, out) as (renderer, n_threads, check):
        outcomes = _render(wanted, renderer, n_threads, out, check)
    *problems, total = summary(outcomes, renderer.n_evicted)
    for line in problems:
        click.echo(line, err=True)
    click.echo(total)
    return exit_code(outcomes)


@contextmanager
def _renderer(
    url: str | None, fields: dict[str, Any], loaded: Loaded, config: Path | None, out: Path | None
) -> Iterator[tuple[LocalRenderer | ServerRenderer, int, Any]]:
    """Yield who renders, on how many threads, and what the main thread calls meanwhile."""
    from tts_service.cli.own_workers import own_workers
    from tts_service.cli.renderers import LocalRenderer, ServerRenderer
    from tts_service.gateway.disk_store import DiskStore, check_private

    if url is not None:
        yield ServerRenderer(url, fields), REQUESTS_AT_A_TIME, lambda: None
        return
    settings = loaded.settings.gateway
    store = None
    if settings.cache_mib and settings.cache_dir:
        directory = Path(settings.cache_dir).absolute()
        check_private(directory)
        store = DiskStore(directory, settings.cache_mib << 20)
        store.open()
    elif out is None:
        raise UsageError(
            f"gateway.cache_dir = {settings.cache_dir!r}, gateway.cache_mib = {settings.cache_mib}: nothing would be "
            "kept; set both (--cache-dir DIR --cache-mib 256), or give --url or --out"
        )
    with own_workers(loaded, config) as own:
        n_slots = sum(pool.n_slots for pool in own.client.pools.values())
        yield LocalRenderer(own, fields, settings, store), max(1, n_slots), own.check


def _render(
    phrases: list[Phrase], renderer: LocalRenderer | ServerRenderer, n_threads: int, out: Path | None, check: Any
) -> list[Outcome]:
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    width = len(str(phrases[-1].line))
    outcomes: list[Outcome] = []
    with (
        Progress(console=console, transient=True, disable=not console.is_terminal) as bar,
        ThreadPoolExecutor(n_threads) as threads,
    ):
        task = bar.add_task("rendering", total=len(phrases))
        pending: set[Future[Outcome]] = set()
        try:
            for phrase in phrases:
                wav = None if out is None else out / f"{phrase.line:0{width}}.wav"
                pending.add(threads.submit(_one, renderer, phrase, wav))
            while pending:
                done, pending = wait(pending, LOOK_S, FIRST_COMPLETED)
                outcomes += [future.result() for future in done]
                bar.update(task, completed=len(outcomes))
                check()
        finally:
            renderer.stop.set()
            for future in pending:
                future.cancel()
    return outcomes


def _one(renderer: LocalRenderer | ServerRenderer, phrase: Phrase, wav: Path | None) -> Outcome:
    from tts_service.cli.phrases import Outcome

    try:
        there = renderer.render(phrase, wav)
    except RequestFailed as error:
        return Outcome(phrase, "failed", error)
    return Outcome(phrase, "already there" if there else "rendered")
