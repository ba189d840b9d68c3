"""The chaos scenario: workers, and then the dispatcher, are killed under load, and nobody may hear it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import click
import msgspec

from tts_service.bench.callers import Caller, Calls, CallsReport, callers
from tts_service.bench.chaos_figures import Stage, wrong_answers
from tts_service.bench.havoc import DISPATCHER, Havoc
from tts_service.bench.line_process import LineProcess
from tts_service.bench.metrics_reading import read_metrics, total
from tts_service.bench.own_settings import engine_of, environment_of, must_be_own, tone_options, tone_values
from tts_service.bench.readings import read_activity
from tts_service.bench.scenario import About, Progress, Table
from tts_service.bench.target import Server, Target
from tts_service.bench.texts import SENTENCES
from tts_service.errors import Unavailable

UNDISTURBED = "nothing"
WORKERS = "workers"
# A stopped worker is found within seconds, and a killed one is started again at once.
WATCHED = {
    "workers.heartbeat_s": "0.25",
    "workers.step_timeout_s": "1",
    "workers.prepare_timeout_s": "1",
    "workers.backoff_max_s": "0.5",
}
N_SHORT, N_LONG, LONG_SENTENCES = 8, 4, 8
N_TEXTS = N_SHORT + N_LONG
REQUESTS_BESIDE_DISPATCHER = 2
# Segments in progress before the dispatcher is killed, and the time from then on.
N_BUSY = 4
MIDDLE_S = 0.2
# After the last blow, for what is in progress.
PATIENCE_S = 120.0
BUSY_TIMEOUT_S = 20.0
LOOK_S = 0.02
_MAX_PROBLEMS_SHOWN = 8


class ChaosResult(msgspec.Struct, frozen=True):
    """All stages of one command, the undisturbed one first."""

    about: About
    load: str
    dispatcher_kills: int
    """How many there were to be."""
    stages: list[Stage]

    def faults(self) -> list[str]:
        """See Result."""
        wrong = wrong_answers(self.stages)
        found = wrong[:_MAX_PROBLEMS_SHOWN]
        if len(wrong) > len(found):
            found.append(f"{len(wrong) - len(found)} more answers were wrong")
        for stage in self.stages:
            if stage.name == WORKERS and not stage.count("SIGKILL"):
                found.append("no worker was killed, so nothing was tried")
        killed = [(stage, blow) for stage in self.stages for blow in stage.blows if blow.target == DISPATCHER]
        if len(killed) < self.dispatcher_kills:
            found.append(f"the dispatcher was killed {len(killed)} times instead of {self.dispatcher_kills}")
        if any(stage.in_flight(blow) == 0 for stage, blow in killed):
            found.append("the dispatcher was killed while nothing was in progress")
        return found

    def tables(self) -> list[Table]:
        """See Result."""
        wrong = wrong_answers(self.stages)
        rows = [_row(stage, sum(line.startswith(f"{stage.name}, ") for line in wrong)) for stage in self.stages]
        return [Table(self.load, _COLUMNS, rows)]

    def draw(self, figure: Any) -> None:
        """See Result."""
        from tts_service.bench.chaos_plot import draw

        draw(self.stages, figure)


class Chaos:
    """Kill workers, and then their dispatcher, under load, and compare every answer with the undisturbed one.

    Streams and downloads of short and long texts, each client asking again as soon as it has its answer. First each
    request once, undisturbed. Then a worker is killed (SIGKILL) every few seconds, and now and then one is stopped
    (SIGSTOP) instead, which its supervisor has to find out. Then, with all clients at work, the dispatcher is killed,
    which takes its workers with it; `serve` starts it again. The verdict: every request was answered, with the same
    bytes. Only processes of the server that this command has started are touched.
    """

    options: ClassVar[list[click.Option]] = [
        click.Option(["--seconds"], type=click.FloatRange(1, 86400), default=120.0, show_default=True,
                     help="Of killed workers."),
        click.Option(["--kill-every"], type=click.FloatRange(0.1, 3600), default=2.0, show_default=True,
                     help="Seconds between two blows."),
        click.Option(["--stop-every"], type=click.FloatRange(0, 3600), default=15.0, show_default=True,
                     help="Seconds between two blows that stop a worker instead; 0: never."),
        click.Option(["--dispatcher-kills"], type=click.IntRange(0, 100), default=3, show_default=True),
        click.Option(["--streams"], type=click.IntRange(0, 1000), default=16, show_default=True,
                     help="Clients that stream."),
        click.Option(["--downloads"], type=click.IntRange(1, 1000), default=16, show_default=True,
                     help="Clients that want their answer in one piece."),
        *tone_options(0.01),
        click.Option(["--seed"], type=int, default=1, show_default=True, help="Of the choice of victims."),
    ]  # fmt: skip

    def __init__(self, seconds: float, kill_every: float, stop_every: float, dispatcher_kills: int, streams: int,
                 downloads: int, step_cost: float, step_wait: float, seed: int) -> None:  # fmt: skip
        self.seconds = seconds
        self.kill_every_s = kill_every
        self.stop_every_s = stop_every
        self.dispatcher_kills = dispatcher_kills
        self.n_streams = streams
        self.n_downloads = downloads
        self.tone = tone_values(step_cost, step_wait)
        self.seed = seed
        self.bodies = [_body(n, streamed) for streamed in (True, False) for n in range(N_TEXTS)]

    def run(self, target: Target, progress: Progress) -> ChaosResult:
        """See Scenario."""
        must_be_own(target, "kills processes of a server")
        n_clients = self.n_streams + self.n_downloads
        room = {"gateway.threads": str(n_clients + 16), "gateway.max_requests": str(n_clients + 8)}
        environment = environment_of(target, {}, unless_said={**WATCHED, **room}, tone=self.tone)
        step = progress.begin("chaos", 2 + self.dispatcher_kills)
        stages = []
        with target.server(environment) as server, callers() as client:
            havoc = Havoc(server, self.seed)
            for stage in self._stages(client, server, havoc):
                stages.append(stage)
                step()
        load = f"{engine_of(target, environment)}: {self.n_streams} streams and {self.n_downloads} downloads at once, "
        load += f"texts of 1 and of {LONG_SENTENCES} sentences"
        return ChaosResult(About.here(None), load, self.dispatcher_kills, stages)

    def _stages(self, client: LineProcess, server: Server, havoc: Havoc) -> Iterator[Stage]:
        ring = _Ring(client, server, havoc, self.bodies)
        yield ring.stage(UNDISTURBED, self._undisturbed(), lambda: None)
        yield ring.stage(
            WORKERS,
            self._clients(self.seconds),
            lambda: havoc.strike_workers(self.seconds, self.kill_every_s, self.stop_every_s),
        )
        for n in range(self.dispatcher_kills):
            havoc.wait_back()
            yield ring.stage(f"{DISPATCHER} {n + 1}", self._clients(0.0), ring.strike_dispatcher)

    def _undisturbed(self) -> list[Caller]:
        """Return clients, no more than the server has room for, that ask for each request once."""
        n_clients = min(self.n_streams + self.n_downloads, len(self.bodies))
        return [Caller(list(range(k, len(self.bodies), n_clients))) for k in range(n_clients)]

    def _clients(self, until_s: float) -> list[Caller]:
        """Return the clients: each goes through the requests of its kind, from a place of its own."""
        found = []
        for first, n_clients in ((0, self.n_streams), (N_TEXTS, self.n_downloads)):
            for k in range(n_clients):
                own = [first + (k + n) % N_TEXTS for n in range(N_TEXTS)]
                found.append(Caller(own if until_s else own[:REQUESTS_BESIDE_DISPATCHER], until_s=until_s))
        return found


class _Ring:
    """One server, its clients, and what is done to it."""

    def __init__(self, client: LineProcess, server: Server, havoc: Havoc, bodies: list[dict[str, Any]]) -> None:
        self._client = client
        self._url = server.url
        self._havoc = havoc
        self._bodies = bodies

    def stage(self, name: str, clients: list[Caller], disturb: Callable[[], None]) -> Stage:
        """Let the clients ask, disturb them meanwhile, and wait for all their answers."""
        seconds = max(client.until_s for client in clients)
        before, n_blows = read_metrics(self._url), len(self._havoc.blows)
        self._client.send(Calls(self._url, self._bodies, clients, seconds + PATIENCE_S))
        disturb()
        report = self._client.receive(CallsReport, seconds + 2 * PATIENCE_S)
        self._havoc.wait_back()
        after, blows = read_metrics(self._url), self._havoc.blows[n_blows:]
        if any(blow.target == DISPATCHER for blow in blows):
            # Its successor counts from the start.
            before = ""
        return Stage(
            name=name,
            started_s=report.started_s,
            heard=report.heard,
            blows=blows,
            retries=total(after, _RETRIES) - total(before, _RETRIES),
            continuations=total(after, _CONTINUATIONS) - total(before, _CONTINUATIONS),
        )

    def strike_dispatcher(self) -> None:
        """Kill the dispatcher once its workers are at work. Unavailable where they never are."""
        deadline = time.monotonic() + BUSY_TIMEOUT_S
        while read_activity(self._url).n_in_progress < N_BUSY:
            if time.monotonic() > deadline:
                raise Unavailable("the clients gave the server nothing to do")
            time.sleep(LOOK_S)
        # So that streams have begun, and are cut in the middle.
        time.sleep(MIDDLE_S)
        self._havoc.kill_dispatcher()


def _body(n: int, streamed: bool) -> dict[str, Any]:
    """Return the body of the `n`-th request of its kind: first the short texts, then the long ones."""
    start = (7 * n) % len(SENTENCES)
    n_sentences = 1 if n < N_SHORT else LONG_SENTENCES
    text = " ".join(itertools.islice(itertools.cycle(SENTENCES), start, start + n_sentences))
    return {"input": text, "response_format": "pcm" if streamed else "wav", "stream": streamed, "seed": n}


_RETRIES = "tts_segment_retries_total"
_CONTINUATIONS = "tts_continuations_total"
_COLUMNS = (
    "killed",
    "answers",
    "wrong",
    "blows (of them SIGSTOP)",
    "in flight",
    "retries (in the middle)",
    "s p50/p95/max",
)


def _row(stage: Stage, n_wrong: int) -> Sequence[str]:
    flights = [stage.in_flight(blow) for blow in stage.blows]
    return [
        stage.name,
        str(len(stage.heard)),
        str(n_wrong),
        f"{len(stage.blows)} ({stage.count('SIGSTOP')})" if stage.blows else "-",
        f"{min(flights)}-{max(flights)}" if flights else "-",
        f"{stage.retries:.0f} ({stage.continuations:.0f})",
        "/".join(f"{stage.total_s(percent):.1f}" for percent in (50, 95, 100)),
    ]
