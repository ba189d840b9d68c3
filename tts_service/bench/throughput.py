"""The throughput scenario: rounds of requests at several concurrencies, and the raw loop of the same engine between."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from statistics import median
from typing import Any, ClassVar

import click
import msgspec

from tts_service.bench.client_process import Load, LoadReport
from tts_service.bench.cpu_reading import LocalCpu, LocalProcesses
from tts_service.bench.line_process import LineProcess, Ready
from tts_service.bench.raw_loop import RawLoop, raw_loop
from tts_service.bench.readings import Reading, read_idle
from tts_service.bench.scenario import About, Progress, Table
from tts_service.bench.target import Server, Target
from tts_service.bench.texts import SENTENCES
from tts_service.bench.thread_verdict import Work
from tts_service.bench.throughput_figures import Line, RawRound, Round, figures
from tts_service.errors import UsageError
from tts_service.settings import load as load_settings

DEFAULT_CONCURRENCIES = (1, 2, 4, 8)
# Before the first round: what a gateway loads with its first requests is not what is measured.
N_WARM_UP = 8
CLIENT_START_TIMEOUT_S = 60.0
ROUND_TIMEOUT_S = 3600.0
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
        problems = [
            f"concurrency {one.concurrency}: a request failed: {timing.problem}"
            for one in self.rounds
            for timing in one.timings
            if timing.problem
        ]
        more = len(problems) - _MAX_PROBLEMS_SHOWN
        return problems[:_MAX_PROBLEMS_SHOWN] + ([f"{more} more requests failed"] if more > 0 else [])

    def tables(self) -> list[Table]:
        """See Result."""
        parts = list(self.lines[0].cpu_ms)
        costs = [[str(line.concurrency), *(f"{line.cpu_ms[part]:.3f}" for part in parts)] for line in self.lines]
        found = [
            Table(self.load, _COLUMNS, list(map(_row, self.lines))),
            Table("CPU milliseconds for a second of audio", ["requests at once", *parts], costs),
        ]
        return found + ([_raw_table(self.lines, self.raw_rounds)] if self.raw_rounds else [])

    def draw(self, figure: Any) -> None:
        """See Result."""
        from tts_service.bench.throughput_plot import draw

        draw(self.lines, self.raw_rounds, figure)


class Throughput:
    """Measure audio per second, CPU time and latency at several concurrencies.

    The requests speak 40 fixed sentences of 20 to 230 characters, over and over, and come from a process of their own.
    With --limit, rounds of the same engine on the same texts without any server, one pinned process for each worker,
    come between those of the server, and the ratio is given. The verdict: no request failed.
    """

    options: ClassVar[list[click.Option]] = [
        click.Option(["-c", "--concurrency", "concurrencies"], type=click.IntRange(1, 1000), multiple=True,
                     default=DEFAULT_CONCURRENCIES, show_default=True, help="Requests in progress; may be repeated."),
        click.Option(["-n", "--requests"], type=click.IntRange(1, 1_000_000), default=200, show_default=True,
                     help="Requests of each round."),
        click.Option(["--rounds"], type=click.IntRange(1, 1000), help="Of each concurrency. Default: 1; 3 with "
                     "--limit."),
        click.Option(["--fresh/--kept"], default=False, show_default=True, help="A connection for each request, or "
                     "one kept by each client."),
        click.Option(["--format", "response_format"], type=click.Choice(["pcm", "wav", "mp3"]), default="pcm",
                     show_default=True, help="Of the answers."),
        click.Option(["--streamed/--buffered"], default=True, show_default=True, help="How answers are sent."),
        click.Option(["--limit"], is_flag=True, help="Measure the engine without a server, too."),
    ]  # fmt: skip

    def __init__(
        self,
        concurrencies: tuple[int, ...],
        requests: int,
        rounds: int | None,
        fresh: bool,
        response_format: str,
        streamed: bool,
        limit: bool,
    ) -> None:
        self.concurrencies = concurrencies
        self.texts = [n % len(SENTENCES) for n in range(requests)]
        self.n_rounds = rounds or (3 if limit else 1)
        self.kept = not fresh
        self.fields = {"response_format": response_format, "stream": streamed}
        self.limit = limit

    def run(self, target: Target, progress: Progress) -> ThroughputResult:
        """See Scenario."""
        if self.limit and target.url is not None:
            raise UsageError("--limit needs a server that this command starts, to know its engine; leave out --url")
        step = progress.begin("throughput", self.n_rounds * len(self.concurrencies))
        rounds: list[Round] = []
        raw_rounds: list[RawRound] = []
        with target.server() as server, _client() as client, self._raw(target) as raw:
            meter = _Meter(server, client)
            meter.measure(self._load(server, 2, self.texts[:N_WARM_UP]))
            for _ in range(self.n_rounds):
                for concurrency in self.concurrencies:
                    rounds.append(meter.measure(self._load(server, concurrency, self.texts)))
                    # In turns with the server's: whatever else the machine does then meets both.
                    if raw is not None:
                        raw_rounds.append(RawRound(raw.measure(self.texts)))
                    step()
        return ThroughputResult(About.here(target.url), self._description(), rounds, raw_rounds)

    def _raw(self, target: Target) -> AbstractContextManager[RawLoop | None]:
        if not self.limit:
            return nullcontext()
        flags = {f"pool.{name}": value for name, value in target.flags.items()}
        return raw_loop(load_settings(target.config, os.environ, flags).settings)

    def _load(self, server: Server, concurrency: int, texts: list[int]) -> Load:
        return Load(server.url, texts, self.fields, concurrency, self.kept)

    def _description(self) -> str:
        sent = "streamed" if self.fields["stream"] else "buffered"
        connections = "kept" if self.kept else "fresh"
        return (
            f"{self.n_rounds} x {len(self.texts)} requests, {self.fields['response_format']}, {sent}, {connections} "
            "connections"
        )


class _Meter:
    """Makes rounds of requests and reads the server before and after each."""

    def __init__(self, server: Server, client: LineProcess) -> None:
        self._url = server.url
        self._client = client
        self._processes = LocalProcesses.of(server, read_idle(server.url))

    def measure(self, load: Load) -> Round:
        before, cpu_before = read_idle(self._url), self._cpu()
        self._client.send(load)
        report = self._client.receive(LoadReport, ROUND_TIMEOUT_S)
        after, cpu_after = read_idle(self._url), self._cpu()
        work = _work(before, after)
        return Round(
            concurrency=load.concurrency,
            wall_s=report.ended_s - report.started_s,
            audio_s=sum(one.audio_s for one in work),
            engine_cpu_s=sum(one.cpu_s for one in work),
            client_cpu_s=report.cpu_s,
            timings=report.timings,
            local_cpu=cpu_after.since(cpu_before) if cpu_before and cpu_after else None,
        )

    def _cpu(self) -> LocalCpu | None:
        return self._processes.read() if self._processes else None


@contextmanager
def _client() -> Iterator[LineProcess]:
    with LineProcess("tts_service.bench.client_process", []) as client:
        client.receive(Ready, CLIENT_START_TIMEOUT_S)
        yield client


def _work(before: Reading, after: Reading) -> list[Work]:
    """Return what each worker did; one that was restarted meanwhile counts from its start."""
    found = []
    for worker in after.workers:
        earlier = before.worker(worker.index)
        fresh = msgspec.structs.replace(
            worker, voluntary_switches=0, busy_seconds=0.0, cpu_seconds=0.0, audio_seconds=0.0
        )
        found.append(Work.between(earlier if earlier and earlier.pid == worker.pid else fresh, worker))
    return found


_COLUMNS = (
    "requests at once",
    "ok",
    "failed",
    "audio-s per s",
    "audio-s per CPU-s",
    "engine cores",
    "latency ms p50/p95",
    "first audio ms p50/p95",
)


def _row(line: Line) -> list[str]:
    return [
        str(line.concurrency),
        str(line.n_ok),
        str(line.n_failed),
        f"{line.audio_per_wall_s:.1f}",
        f"{line.audio_per_cpu_s:.1f}",
        f"{line.cores:.2f}",
        _milliseconds(line.total_s),
        _milliseconds(line.first_audio_s),
    ]


def _raw_table(lines: list[Line], raw_rounds: list[RawRound]) -> Table:
    per_wall = median(one.audio_per_wall_s for one in raw_rounds)
    per_cpu = median(one.audio_per_cpu_s for one in raw_rounds)
    n = len(raw_rounds[0].reports)
    title = f"Against the engine alone in {n} process{'es' * (n > 1)}: {per_wall:.1f} audio-s per s, "
    title += f"{per_cpu:.1f} per CPU-s"
    rows = [[str(line.concurrency), _share(line.raw_ratio), _share(line.raw_cpu_ratio)] for line in lines]
    return Table(title, ("requests at once", "server / engine, per s", "server / engine, per CPU-s"), rows)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _milliseconds(ends: tuple[float, float]) -> str:
    return "/".join(f"{1000 * value:.0f}" for value in ends)
