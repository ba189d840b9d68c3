"""The overload scenario: more requests than a server can do, and what becomes of them and of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import click
import msgspec

from tts_service.bench.callers import Calls, Heard, call, callers
from tts_service.bench.capacity import N_REQUESTS, measure_capacity
from tts_service.bench.family import Member, pairs, read_family
from tts_service.bench.line_process import LineProcess
from tts_service.bench.one_liners import arrivals, one_liners
from tts_service.bench.own_settings import engine_of, environment_of, tone_options, tone_values
from tts_service.bench.readings import read_idle
from tts_service.bench.scenario import About, Progress, Table
from tts_service.bench.target import Server, Target
from tts_service.bench.throughput_figures import percentile

BELOW, OVER = 0.5, 3.0
# What a process may grow by between the two readings: allocators keep what a burst has needed.
FLAT_BYTES = 8 << 20
PATIENCE_S = 60.0
_MAX_PROBLEMS_SHOWN = 5


class Stretch(msgspec.Struct, frozen=True):
    """One stretch of requests at one load."""

    load: float
    """Share of the measured capacity."""
    heard: list[Heard]

    @property
    def admitted(self) -> list[Heard]:
        """What was not refused."""
        return [one for one in self.heard if not one.refused]

    @property
    def refused(self) -> list[Heard]:
        """What was answered with 503."""
        return [one for one in self.heard if one.refused]

    def first_audio_s(self, percent: float) -> float:
        """Return a percentile of the time to first audio of what was admitted."""
        return percentile([one.first_audio_s for one in self.admitted if one.first_audio_s is not None], percent)

    def refusal_s(self, percent: float) -> float:
        """Return a percentile of the time to the end of a refusal."""
        return percentile([one.total_s for one in self.refused], percent)


class OverloadResult(msgspec.Struct, frozen=True):
    """All stretches of one command."""

    about: About
    load: str
    max_wait_s: float
    max_refusal_s: float
    stretches: list[Stretch]
    before: list[Member]
    """The server's processes before the first stretch; [] where they are out of reach."""
    after: list[Member]

    def faults(self) -> list[str]:
        """See Result."""
        found: list[str] = []
        for stretch in self.stretches:
            where = f"at {stretch.load:g} x capacity"
            problems = [one.problem for one in stretch.admitted if one.problem]
            found += [f"{where}: a request failed: {problem}" for problem in problems[:_MAX_PROBLEMS_SHOWN]]
            found += _refusal_faults(where, stretch.refused)
            if n := sum(one.n_dry for one in stretch.admitted):
                found.append(f"{where}: {n} underruns of admitted streams")
        found += [*self._latency_faults(), *self._memory_faults()]
        return found

    def _latency_faults(self) -> list[str]:
        below, over = ([s for s in self.stretches if s.load == load] for load in (BELOW, OVER))
        found = []
        if not any(stretch.refused for stretch in over):
            found.append(f"nothing was refused at {OVER:g} x capacity")
        refusal_s = max(stretch.refusal_s(50) for stretch in over)
        if refusal_s > self.max_refusal_s:
            found.append(
                f"a refusal takes {1000 * refusal_s:.0f} ms (median), {1000 * self.max_refusal_s:g} is the most"
            )
        most_s = max(stretch.first_audio_s(95) for stretch in below) + self.max_wait_s
        reached_s = max(stretch.first_audio_s(95) for stretch in over)
        if reached_s > most_s:
            found.append(
                f"first audio of admitted requests takes {reached_s:.2f} s (95th percentile) at {OVER:g} x capacity; "
                f"at {BELOW:g} x, and with the wait that is allowed, it is {most_s:.2f} s"
            )
        return found

    def _memory_faults(self) -> list[str]:
        return [
            f"{old.name} grew from {old.rss_mib:.1f} to {new.rss_mib:.1f} MiB"
            for old, new in pairs(self.before, self.after)
            if new.rss_bytes - old.rss_bytes > FLAT_BYTES
        ]

    def tables(self) -> list[Table]:
        """See Result."""
        members = [
            [old.name, f"{old.rss_mib:.1f}", f"{new.rss_mib:.1f}", f"{new.rss_mib - old.rss_mib:+.1f}"]
            for old, new in pairs(self.before, self.after)
        ]
        found = [Table(self.load, _COLUMNS, list(map(_row, self.stretches)))]
        return found + ([Table("Resident MiB", ("process", "before", "after", "grown by"), members)] if members else [])

    def draw(self, figure: Any) -> None:
        """See Result."""
        from tts_service.bench.overload_plot import draw

        draw(self.stretches, figure)


class Overload:
    """Offer more than the server can do, and see what becomes of what it takes and of what it refuses.

    One-liner streams arrive at random: at half of the capacity, which is measured first, at three times of it, and at
    half of it again. The verdict: refusals (503) come at once and say when to try again, what is admitted has its
    first audio as soon as at half load but for the wait that the server allows, no stream runs dry, and no process
    grows.
    """

    options: ClassVar[list[click.Option]] = [
        click.Option(["--seconds"], type=click.FloatRange(1, 86400), default=20.0, show_default=True,
                     help="Of each load."),
        click.Option(["--max-wait"], type=click.FloatRange(0.1, 3600), default=2.0, show_default=True,
                     help="pools.NAME.max_wait_s of the server, where nothing else sets it."),
        click.Option(["--max-refusal"], type=click.FloatRange(0), default=0.05, show_default=True,
                     help="Seconds to a refusal (median), at most."),
        click.Option(["--capacity-requests"], type=click.IntRange(8, 1_000_000), default=N_REQUESTS,
                     show_default=True, help="Requests that the capacity is measured with."),
        *tone_options(),
        click.Option(["--seed"], type=int, default=1, show_default=True, help="Of the arrivals."),
    ]  # fmt: skip

    def __init__(self, seconds: float, max_wait: float, max_refusal: float, capacity_requests: int, step_cost: float,
                 step_wait: float, seed: int) -> None:  # fmt: skip
        self.seconds = seconds
        self.max_wait_s = max_wait
        self.max_refusal_s = max_refusal
        self.capacity_requests = capacity_requests
        self.tone = tone_values(step_cost, step_wait)
        self.seed = seed

    def run(self, target: Target, progress: Progress) -> OverloadResult:
        """See Scenario."""
        environment = {}
        if target.url is None:
            wait = {"pool.max_wait_s": str(self.max_wait_s)}
            environment = environment_of(target, {}, unless_said=wait, tone=self.tone)
        loads = (BELOW, OVER, BELOW)
        step = progress.begin("overload", 1 + len(loads))
        stretches = []
        with target.server(environment) as server, callers() as client:
            capacity = measure_capacity(client, server.url, read_idle(server.url), self.capacity_requests)
            # What a first burst needs, such as the threads of the gateway, is there from then on.
            self._stretch(client, server, OVER, capacity, self.seed - 1)
            step()
            read_idle(server.url)
            before = read_family(server.pid)
            for n, load in enumerate(loads):
                stretches.append(self._stretch(client, server, load, capacity, self.seed + n))
                step()
            read_idle(server.url)
            after = read_family(server.pid)
        engine = engine_of(target, environment) if target.url is None else "the server"
        about = f"{engine}: capacity {capacity:.0f} characters a second, max_wait_s {self.max_wait_s:g}"
        return OverloadResult(
            About.here(target.url), about, self.max_wait_s, self.max_refusal_s, stretches, before, after
        )

    def _stretch(self, client: LineProcess, server: Server, load: float, capacity: float, seed: int) -> Stretch:
        found = arrivals(load * capacity, self.seconds, seed)
        return Stretch(load, call(client, Calls(server.url, one_liners(), found, self.seconds + PATIENCE_S)))


def _refusal_faults(where: str, refused: Sequence[Heard]) -> list[str]:
    without = sum(not one.retry_after.isdigit() or int(one.retry_after) < 1 for one in refused)
    unmarked = sum(one.should_retry != "true" for one in refused)
    found = [f"{where}: {without} refusals without Retry-After"] if without else []
    return found + ([f"{where}: {unmarked} refusals without x-should-retry: true"] if unmarked else [])


_COLUMNS = (
    "x capacity",
    "offered",
    "admitted",
    "503",
    "ms to 503 p50/p95",
    "Retry-After s",
    "first audio ms p50/p95",
    "total ms p50/p95",
    "dry",
)


def _row(stretch: Stretch) -> Sequence[str]:
    waits = [int(one.retry_after) for one in stretch.refused if one.retry_after.isdigit()]
    totals = [one.total_s for one in stretch.admitted]
    return [
        f"{stretch.load:g}",
        str(len(stretch.heard)),
        str(len(stretch.admitted)),
        str(len(stretch.refused)),
        f"{1000 * stretch.refusal_s(50):.0f}/{1000 * stretch.refusal_s(95):.0f}" if waits else "-",
        f"{min(waits)}-{max(waits)}" if waits else "-",
        f"{1000 * stretch.first_audio_s(50):.0f}/{1000 * stretch.first_audio_s(95):.0f}",
        f"{1000 * percentile(totals, 50):.0f}/{1000 * percentile(totals, 95):.0f}",
        str(sum(one.n_dry for one in stretch.admitted)),
    ]
