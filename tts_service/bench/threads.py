"""The threads drill: fresh connections, one after the other, and what they leave behind in the workers."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

import click
import msgspec

from tts_service.bench.meter import is_ours
from tts_service.bench.mix import Exchange, carry_out, plan_mix
from tts_service.bench.peer_drill import PeerDrill
from tts_service.bench.readings import Reading, read_idle
from tts_service.bench.scenario import About, Progress, Table
from tts_service.bench.speaker import Wanted
from tts_service.bench.target import Server, Target
from tts_service.bench.thread_verdict import Limits, WorkerVerdict, judge
from tts_service.errors import UsageError

_SHAPE = re.compile(r"([1-9]\d{0,3})x([1-9]\d{0,3})")
_BOTH_SHAPES = ("2x1", "1x2")
_MAX_PROBLEMS_SHOWN = 5


class ThreadsRun(msgspec.Struct, frozen=True):
    """One drill of one server."""

    label: str
    """Workers x threads, or "server" where they were not chosen here."""
    kinds: list[str]
    """What each connection was used for."""
    problems: list[str]
    """Answers that were not as they should be."""
    readings: list[Reading]
    """One before the first connection and one after each."""
    verdicts: list[WorkerVerdict]

    @property
    def served_before(self) -> bool:
        """True where the server had spoken before the drill began."""
        return any(worker.audio_seconds > 0 for worker in self.readings[0].workers)

    def faults(self) -> list[str]:
        """Return what did not hold."""
        found = [f"{self.label}: {problem}" for problem in self.problems[:_MAX_PROBLEMS_SHOWN]]
        if len(self.problems) > _MAX_PROBLEMS_SHOWN:
            found.append(f"{self.label}: {len(self.problems) - _MAX_PROBLEMS_SHOWN} more answers were wrong")
        for verdict in self.verdicts:
            found += [f"{self.label} worker {verdict.index}: {fault}" for fault in verdict.faults]
        if not any(verdict.threads for verdict in self.verdicts):
            found.append(f"{self.label}: no worker has worked through the whole drill, so nothing was compared")
        return found


class ThreadsResult(msgspec.Struct, frozen=True):
    """All drills of one command."""

    about: About
    limits: Limits
    runs: list[ThreadsRun]

    def faults(self) -> list[str]:
        """See Result."""
        return [fault for run in self.runs for fault in run.faults()]

    def tables(self) -> list[Table]:
        """See Result."""
        columns = (
            "shape #worker",
            "audio s",
            "threads, first → last",
            "switches per audio-s, first → last tenth",
            "cores, first → last ten",
            "cores ratio",
            "verdict",
        )
        rows = [_row(run.label, verdict) for run in self.runs for verdict in run.verdicts]
        title = f"{len(self.runs[0].kinds)} fresh connections, one after the other"
        if any(run.served_before for run in self.runs):
            title += " (the server had spoken before: what the first connections do to it is not seen)"
        return [Table(title, columns, rows)]

    def draw(self, figure: Any) -> None:
        """See Result."""
        from tts_service.bench.thread_plot import draw

        draw(self.runs, figure)


class ThreadsDrill:
    """Show that connections leave no threads behind and cost no cores.

    Fresh connections, one after the other: whole WAVs, PCM streams, aborted and invalid requests in a fixed mix. GET
    /workers is read after each. Every worker must have as many live threads after the last connection as after the
    first; voluntary context switches per second of audio must not more than double (counting at least 50) from the
    first tenth of the connections to the last; and effective cores must stay. A worker that was restarted meanwhile is
    reported, and not compared. A server at --url should have been started just before, since the first connections are
    the baseline. One of another make (without GET /workers) needs --pid: all its processes then count as one worker,
    and invalid requests are whole ones.
    """

    any_server: ClassVar[bool] = True
    options: ClassVar[list[click.Option]] = [
        click.Option(["-n", "--connections"], type=click.IntRange(2, 100_000), default=100, show_default=True,
                     help="Fresh connections of each drill."),
        click.Option(["--seed"], type=int, default=1, show_default=True, help="Of the order of the mix."),
        click.Option(["--shape", "shapes"], multiple=True, metavar="WxT",
                     help="Workers x threads of a server to be started and measured; may be repeated. Default: 2x1 and "
                     "1x2 where there are 2 CPUs and nothing else says the shape."),
        click.Option(["--min-cores-ratio"], type=click.FloatRange(0, 1), default=0.95, show_default=True,
                     help="Effective cores of the last ten connections over the first ten, at least."),
    ]  # fmt: skip

    def __init__(self, connections: int, seed: int, shapes: tuple[str, ...], min_cores_ratio: float) -> None:
        self.connections = connections
        self.seed = seed
        self.shapes = shapes
        self.limits = Limits(cores_ratio=min_cores_ratio)

    def run(self, target: Target, progress: Progress) -> ThreadsResult:
        """See Scenario."""
        configurations = list(self._configurations(target))
        runs = []
        for label, flags in configurations:
            with target.server(**flags) as server:
                runs.append(self._drill(label, server, target.wanted, progress))
        return ThreadsResult(About.here(target.url), self.limits, runs)

    def _configurations(self, target: Target) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield the label and the pool flags of each server to be measured."""
        shaped = {"workers", "threads"} & set(target.flags)
        if self.shapes and (target.url is not None or shaped):
            other = "--url" if target.url is not None else f"--{min(shaped)}"
            raise UsageError(f"--shape and {other} exclude each other")
        shapes = self.shapes
        if not shapes and target.url is None and not shaped and target.config is None:
            shapes = _BOTH_SHAPES if len(os.sched_getaffinity(0)) >= 2 else ()
        if not shapes:
            yield "server", {}
        for shape in shapes:
            if (found := _SHAPE.fullmatch(shape)) is None:
                raise UsageError(f"--shape {shape}: expected workers x threads, for example 2x1")
            yield shape, {"workers": found[1], "threads": found[2]}

    def _drill(self, label: str, server: Server, wanted: Wanted, progress: Progress) -> ThreadsRun:
        connect, read = _ways(server, wanted)
        exchanges = plan_mix(self.connections, self.seed)
        step = progress.begin(f"threads {label}", len(exchanges))
        # Nothing warms the server up: the fault that this drill looks for strikes with the second connection.
        readings = [read()]
        problems = []
        for n, exchange in enumerate(exchanges, start=1):
            if problem := connect(exchange):
                problems.append(f"connection {n} ({exchange.kind}): {problem}")
            readings.append(read())
            step()
        kinds = [exchange.kind.value for exchange in exchanges]
        return ThreadsRun(label, kinds, problems, readings, judge(readings, self.limits))


def _ways(server: Server, wanted: Wanted) -> tuple[Callable[[Exchange], str], Callable[[], Reading]]:
    """Return how to make a connection to a server, and how to read it."""
    if is_ours(server):
        return partial(carry_out, server.url), partial(read_idle, server.url)
    peer = PeerDrill(server, wanted)
    return peer.carry_out, peer.read


def _row(label: str, verdict: WorkerVerdict) -> list[str]:
    cores = verdict.cores
    ratio = f"{cores[1] / cores[0]:.3f}" if cores and cores[0] > 0 else "-"
    return [
        f"{label} #{verdict.index}",
        f"{verdict.audio_s:.1f}",
        "{}→{}".format(*verdict.threads) if verdict.threads else "-",
        "{:.1f}→{:.1f}".format(*verdict.switches) if verdict.switches else "-",
        "{:.2f}→{:.2f}".format(*cores) if cores else "-",
        ratio,
        verdict.outcome,
    ]
