"""The mix scenario: one-liners that arrive at random, alone and beside a book, by the order of the queue."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, ClassVar

import click
import msgspec

from tts_service.bench.callers import Caller, Calls, call, callers
from tts_service.bench.capacity import N_REQUESTS, measure_capacity
from tts_service.bench.line_process import LineProcess
from tts_service.bench.metrics_reading import read_metrics, total
from tts_service.bench.mixed_load_figures import Cell, Line, gain, lines
from tts_service.bench.one_liners import BOOK_AHEAD_S, STREAMED, arrivals, book, one_liners
from tts_service.bench.own_settings import engine_of, environment_of, tone_options, tone_values
from tts_service.bench.readings import Reading, read_idle
from tts_service.bench.scenario import About, Progress, Table
from tts_service.bench.target import Server, Target
from tts_service.bench.thread_verdict import Work
from tts_service.bench.throughput_figures import ratio

ORDERS = ("deadline", "segments", "requests")
AS_IT_IS = "as it is"
# A loopback address that is nobody else's: to the server another client.
OTHER_CLIENT = "127.0.0.2"
_MAX_PROBLEMS_SHOWN = 5


class MixResult(msgspec.Struct, frozen=True):
    """All stretches of one command."""

    about: About
    load: str
    """What was offered."""
    min_gain: float
    cells: list[Cell]

    @property
    def lines(self) -> list[Line]:
        """The figures."""
        return lines(self.cells)

    def faults(self) -> list[str]:
        """See Result."""
        found = self.lines
        faults = []
        for line in found:
            where = f"{line.order}, {'with' if line.with_book else 'without'} the book"
            faults += [f"{where}: a request failed: {problem}" for problem in line.problems[:_MAX_PROBLEMS_SHOWN]]
            if line.n_underruns and line.order in ("deadline", AS_IT_IS):
                faults.append(f"{where}: {line.n_underruns} underruns of one-liners, {line.dry_s:.2f} s in all")
        reached = gain(found, "requests")
        if reached is not None and reached < self.min_gain:
            faults.append(
                f"with the book the 95th percentile of first audio is {reached:.2f} times better than first come "
                f"first served by requests, {self.min_gain:g} is the least"
            )
        return faults

    def tables(self) -> list[Table]:
        """See Result."""
        found = self.lines
        rows = [_row(line, gain(found, line.order)) for line in found]
        return [Table(self.load, _COLUMNS, rows)]

    def draw(self, figure: Any) -> None:
        """See Result."""
        from tts_service.bench.mixed_load_plot import draw

        draw(self.lines, figure)


class Mix:
    """Show what a long text in the background does to one-liners, and what the order of the queue does about it.

    Streams of single sentences arrive at random, at a share of the capacity that is measured first; then again beside
    a book. Time to first audio, and how often a player of each stream would have run dry. The same arrivals for each
    order of the queue, each with a server of its own, one after the other, in rounds. A one-liner that has no audio
    when the time is over counts for as long as it has waited. The verdict: no underrun of a one-liner by the
    deadline order, and with the book a 95th percentile that is better than that of first come first served by
    requests. A server at --url is measured in the order that it has.
    """

    options: ClassVar[list[click.Option]] = [
        click.Option(["--load"], type=click.FloatRange(0.01, 10), default=0.8, show_default=True,
                     help="One-liners, as a share of the measured capacity."),
        click.Option(["--seconds"], type=click.FloatRange(1, 86400), default=30.0, show_default=True,
                     help="Of one-liners in each round, without and with the book."),
        click.Option(["--rounds"], type=click.IntRange(1, 1000), default=2, show_default=True),
        click.Option(["--order", "orders"], type=click.Choice(ORDERS), multiple=True, default=ORDERS,
                     show_default=True, help="May be repeated."),
        click.Option(["--book-sentences"], type=click.IntRange(1, 100_000), default=500, show_default=True),
        click.Option(["--book-as"], type=click.Choice(["buffered", "batch"]), default="buffered", show_default=True,
                     help="An answer in one piece, or a stream of priority batch."),
        click.Option(["--book-from"], type=click.Choice(["other", "same"]), default="other", show_default=True,
                     help="Whether another client asks for the book than for the one-liners."),
        click.Option(["--patience"], type=click.FloatRange(0.1, 3600), default=10.0, show_default=True,
                     help="Seconds after the last arrival until everybody hangs up."),
        click.Option(["--min-gain"], type=click.FloatRange(0), default=3.0, show_default=True,
                     help="95th percentile with the book, by requests over by deadline, at least."),
        click.Option(["--capacity-requests"], type=click.IntRange(8, 1_000_000), default=N_REQUESTS,
                     show_default=True, help="Requests that the capacity is measured with."),
        *tone_options(),
        click.Option(["--seed"], type=int, default=1, show_default=True, help="Of the arrivals."),
    ]  # fmt: skip

    def __init__(self, load: float, seconds: float, rounds: int, orders: tuple[str, ...], book_sentences: int,
                 book_as: str, book_from: str, patience: float, min_gain: float, capacity_requests: int,
                 step_cost: float, step_wait: float, seed: int) -> None:  # fmt: skip
        self.load = load
        self.seconds = seconds
        self.n_rounds = rounds
        self.orders = orders
        self.book = book(book_sentences)
        self.n_sentences = book_sentences
        self.book_as = book_as
        self.book_from = book_from
        self.patience_s = patience
        self.min_gain = min_gain
        self.capacity_requests = capacity_requests
        self.tone = tone_values(step_cost, step_wait)
        self.seed = seed

    def run(self, target: Target, progress: Progress) -> MixResult:
        """See Scenario."""
        orders = self.orders if target.url is None else (AS_IT_IS,)
        step = progress.begin("mix", self.n_rounds * len(orders) * 2)
        cells = []
        capacity = 0.0
        with callers() as client:
            for n in range(self.n_rounds):
                for order in orders:
                    with target.server(self._environment(target, order)) as server:
                        reading = read_idle(server.url)
                        # Once, so that all orders get the same arrivals.
                        capacity = capacity or measure_capacity(client, server.url, reading, self.capacity_requests)
                        for with_book in (False, True):
                            cells.append(self._cell(client, server, order, with_book, capacity, self.seed + n))
                            step()
        return MixResult(About.here(target.url), self._description(target, capacity), self.min_gain, cells)

    def _environment(self, target: Target, order: str) -> dict[str, str]:
        if target.url is not None:
            return {}
        return environment_of(target, {"pool.order": order}, tone=self.tone)

    def _cell(
        self, client: LineProcess, server: Server, order: str, with_book: bool, capacity: float, seed: int
    ) -> Cell:
        callers_ = arrivals(self.load * capacity, self.seconds, seed)
        bodies = one_liners()
        if with_book:
            callers_.append(Caller([len(bodies)], source=OTHER_CLIENT if self.book_from == "other" else ""))
            bodies.append(self._book_body())
        before, metrics_before = read_idle(server.url), read_metrics(server.url)
        started_s = time.monotonic()
        give_up_s = BOOK_AHEAD_S + self.seconds + self.patience_s
        heard = call(client, Calls(server.url, bodies, callers_, give_up_s))
        wall_s = time.monotonic() - started_s
        after, metrics_after = read_idle(server.url), read_metrics(server.url)
        return Cell(
            order=order,
            with_book=with_book,
            heard=[one for one in heard if one.request < len(one_liners())],
            wall_s=wall_s,
            audio_s=sum(work.audio_s for work in _work(before, after)),
            busy=ratio(sum(work.busy_s for work in _work(before, after)), wall_s * after.n_sharing),
            server_underruns=_grown(metrics_before, metrics_after, "tts_underruns_total"),
            server_dry_s=_grown(metrics_before, metrics_after, "tts_underrun_seconds_total"),
        )

    def _book_body(self) -> dict[str, Any]:
        if self.book_as == "batch":
            return {"input": self.book, **STREAMED, "priority": "batch"}
        return {"input": self.book, "response_format": "wav", "stream": False}

    def _description(self, target: Target, capacity: float) -> str:
        engine = engine_of(target, self._environment(target, self.orders[0])) if target.url is None else "the server"
        offered = (
            f"one-liners at {self.load:g} of {capacity:.0f} characters a second, {self.n_rounds} x {self.seconds:g} s"
        )
        return f"{engine}: {offered}; book: {self.n_sentences} sentences, {self.book_as}, {self.book_from} client"


def _work(before: Reading, after: Reading) -> list[Work]:
    """Return what each worker did that has lived through it all."""
    pairs = [(before.worker(worker.index), worker) for worker in after.workers]
    return [Work.between(old, new) for old, new in pairs if old is not None and old.pid == new.pid]


def _grown(before: str, after: str, name: str) -> float:
    return total(after, name) - total(before, name)


_COLUMNS = (
    "order",
    "book",
    "n",
    "503",
    "no audio",
    "first audio ms p50/p95",
    "p95 ÷",
    "dry, server",
    "busy",
)


def _row(line: Line, gain_: float | None) -> Sequence[str]:
    return [
        line.order,
        "yes" if line.with_book else "no",
        str(line.n_offered),
        str(line.n_refused),
        str(line.n_unanswered),
        f"{1000 * line.p50_s:.0f}/{1000 * line.p95_s:.0f}",
        f"{gain_:.1f}" if gain_ is not None and line.with_book else "-",
        f"{line.n_underruns}, {line.server_underruns}",
        f"{line.busy:.2f}",
    ]
