"""The throughput scenario: rounds of requests at several concurrencies, and the raw loop of the same engine between."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

import click
import msgspec

from tts_service.bench.apis import wanted_of
from tts_service.bench.client_process import client_process
from tts_service.bench.meter import Meter
from tts_service.bench.raw_loop import RawLoop, raw_loop
from tts_service.bench.scenario import About, Progress, Table
from tts_service.bench.speaker import Wanted
from tts_service.bench.target import Target
from tts_service.bench.texts import sentences
from tts_service.bench.throughput_figures import Line, RawRound, Round, figures
from tts_service.bench.throughput_tables import tables
from tts_service.errors import UsageError
from tts_service.settings import load as load_settings

DEFAULT_CONCURRENCIES = (1, 2, 4, 8, 16, 32, 64)
_MAX_PROBLEMS_SHOWN = 5


class ThroughputResult(msgspec.Struct, frozen=True):
    """All rounds of one command."""

    about: About
    load: str
    """What the requests were."""
    rounds: list[Round]
    raw_rounds: list[RawRound]

    @property
    def lines(self) -> list[Line]:
        """The figures, a line for each concurrency."""
        return figures(self.rounds, self.raw_rounds)

    def faults(self) -> list[str]:
        """See Result."""
        return failed_requests(self.rounds)

    def tables(self) -> list[Table]:
        """See Result."""
        return tables(self.load, self.lines, self.raw_rounds)

    def draw(self, figure: Any) -> None:
        """See Result."""
        from tts_service.bench.throughput_plot import draw

        draw(self.lines, self.raw_rounds, figure)


class Throughput:
    """Measure audio per second, CPU time, memory and latency at several concurrencies.

    The requests speak 40 fixed sentences of 20 to 230 characters, over and over, and come from a process of their own.
    With --limit, rounds of the same engine on the same texts without any server, one pinned process for each worker,
    come between those of the server, and the ratio is given. The verdict: no request failed.
    """

    any_server: ClassVar[bool] = True
    options: ClassVar[list[click.Option]] = [
        click.Option(["-c", "--concurrency", "concurrencies"], type=click.IntRange(1, 1000), multiple=True,
                     default=DEFAULT_CONCURRENCIES, show_default=True, help="Requests in progress; may be repeated."),
        click.Option(["-n", "--requests"], type=click.IntRange(1, 1_000_000), default=200, show_default=True,
                     help="Requests of each round."),
        click.Option(["--rounds"], type=click.IntRange(1, 1000), help="Of each concurrency. Default: 1; 3 with "
                     "--limit."),
        click.Option(["--fresh/--kept"], default=False, show_default=True, help="A connection for each request, or "
                     "one kept by each client."),
        click.Option(["--format", "response_format"], type=click.Choice(["pcm", "wav", "mp3"]),
                     help="Of the answers. Default: pcm, or what a server of this --api has."),
        click.Option(["--streamed/--buffered"], default=None, help="How answers are sent. Default: streamed, where a "
                     "server of this --api can."),
        click.Option(["--limit"], is_flag=True, help="Measure the engine without a server, too."),
    ]  # fmt: skip

    def __init__(
        self,
        concurrencies: tuple[int, ...],
        requests: int,
        rounds: int | None,
        fresh: bool,
        response_format: str | None,
        streamed: bool | None,
        limit: bool,
    ) -> None:
        self.concurrencies = concurrencies
        self.texts = sentences(requests)
        self.n_rounds = rounds or (3 if limit else 1)
        self.kept = not fresh
        self.response_format = response_format
        self.streamed = streamed
        self.limit = limit

    def run(self, target: Target, progress: Progress) -> ThroughputResult:
        """See Scenario."""
        if self.limit and target.url is not None:
            raise UsageError("--limit needs a server that this command starts, to know its engine; leave out --url")
        wanted = wanted_of(target.api, self.response_format, self.streamed, target.wanted)
        step = progress.begin("throughput", self.n_rounds * len(self.concurrencies))
        rounds: list[Round] = []
        raw_rounds: list[RawRound] = []
        with target.server() as server, client_process() as client, self._raw(target) as raw:
            meter = Meter(server, client)
            meter.warm_up(wanted, self.texts)
            for _ in range(self.n_rounds):
                for concurrency in self.concurrencies:
                    rounds.append(meter.measure(wanted, self.texts, concurrency, kept=self.kept))
                    # In turns with the server's: whatever else the machine does then meets both.
                    if raw is not None:
                        raw_rounds.append(RawRound(raw.measure(self.texts)))
                    step()
        return ThroughputResult(About.here(target.url), self._description(wanted), rounds, raw_rounds)

    def _raw(self, target: Target) -> AbstractContextManager[RawLoop | None]:
        if not self.limit:
            return nullcontext()
        flags = {f"pool.{name}": value for name, value in target.flags.items()}
        return raw_loop(load_settings(target.config, os.environ, flags).settings)

    def _description(self, wanted: Wanted) -> str:
        connections = "kept" if self.kept else "fresh"
        return f"{self.n_rounds} x {len(self.texts)} requests, {manner(wanted)}, {connections} connections; medians"


def manner(wanted: Wanted) -> str:
    """Return a few words about the answers."""
    return f"{wanted.response_format}, {'streamed' if wanted.streamed else 'buffered'}"


def failed_requests(rounds: list[Round]) -> list[str]:
    """Return a line for each request that failed, the first few of them."""
    problems = [
        f"concurrency {one.concurrency}: a request failed: {timing.problem}"
        for one in rounds
        for timing in one.timings
        if timing.problem
    ]
    more = len(problems) - _MAX_PROBLEMS_SHOWN
    return problems[:_MAX_PROBLEMS_SHOWN] + ([f"{more} more requests failed"] if more > 0 else [])
