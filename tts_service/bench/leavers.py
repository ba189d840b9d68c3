"""The leavers scenario: clients that go away at random moments, and what they leave behind: nothing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, ClassVar

import click
import msgspec

from tts_service.bench.family import Member, pairs, read_family
from tts_service.bench.leaver_plan import KINDS, kind_of, plan_leavers
from tts_service.bench.leaver_process import Leaver, Leavers, LeaversReport, Left
from tts_service.bench.line_process import LineProcess, Ready
from tts_service.bench.own_settings import engine_of, environment_of, tone_options, tone_values
from tts_service.bench.readings import read_activity, read_idle
from tts_service.bench.scenario import About, Progress, Table
from tts_service.bench.target import Server, Target
from tts_service.errors import Unavailable

START_TIMEOUT_S = 60.0
ROUND_TIMEOUT_S = 600.0
EMPTY_TIMEOUT_S = 30.0
SETTLE_TIMEOUT_S = 10.0
LOOK_S = 0.01
# What a process may grow by between the two readings: allocators keep what a burst has needed.
FLAT_BYTES = 8 << 20
# Request threads that speech requests leave to others.
SPARE_THREADS = 16
# Of a gateway process besides its request threads: main, ZeroMQ's, its client's.
OTHER_THREADS = 8


class LeaversResult(msgspec.Struct, frozen=True):
    """One round of leavers."""

    about: About
    load: str
    max_empty_s: float
    n_request_threads: int
    """Of a gateway process."""
    leavers: list[Leaver]
    left: list[Left]
    empty_s: float
    """From the last one's leaving until nothing waited or was in a slot."""
    before: list[Member]
    """The server's processes before the round; [] where they are out of reach."""
    after: list[Member]

    def faults(self) -> list[str]:
        """See Result."""
        found = []
        if self.empty_s > self.max_empty_s:
            found.append(f"slots and queue were empty after {self.empty_s:.2f} s, {self.max_empty_s:g} is the most")
        if problems := [one.problem for one in self.left if one.problem]:
            found.append(f"{len(problems)} clients could not ask: {problems[0]}")
        if not any(one.status == 0 and not one.problem for one in self.left):
            found.append("nobody left while waiting, so that was not tried")
        if not any(one.status == 200 for one in self.left):
            found.append("nobody left in the middle of a stream, so that was not tried")
        if len(self.after) != len(self.before):
            found.append(f"{len(self.before)} processes before, {len(self.after)} after")
        for old, new in pairs(self.before, self.after):
            found += self._member_faults(old, new)
        return found

    def _member_faults(self, old: Member, new: Member) -> list[str]:
        found = []
        # Request threads of a gateway come with the first that need them, and stay.
        most = max(old.n_threads, self.n_request_threads + OTHER_THREADS) if "gateway" in old.name else old.n_threads
        if new.n_threads > most:
            found.append(f"{old.name}: {old.n_threads} threads before, {new.n_threads} after")
        if new.n_descriptors > old.n_descriptors:
            found.append(f"{old.name}: {old.n_descriptors} descriptors before, {new.n_descriptors} after")
        if new.rss_bytes - old.rss_bytes > FLAT_BYTES:
            found.append(f"{old.name}: {old.rss_mib:.1f} MiB before, {new.rss_mib:.1f} after")
        return found

    def tables(self) -> list[Table]:
        """See Result."""
        rows = [_row(kind, resets, self._of(kind, resets)) for kind in KINDS for resets in (True, False)]
        return [
            Table(self.load, ("who", "left with", "clients", "no answer yet", "streaming", "refused"), rows),
            Table(
                f"Slots and queue empty {1000 * self.empty_s:.0f} ms after the last one left",
                ("process", "threads", "descriptors", "MiB"),
                [_change(old, new) for old, new in pairs(self.before, self.after)],
            ),
        ]

    def _of(self, kind: str, resets: bool) -> list[Left]:
        both = zip(self.leavers, self.left, strict=True)
        return [left for leaver, left in both if kind_of(leaver) == kind and leaver.resets is resets]

    def draw(self, figure: Any) -> None:
        """See Result."""
        panel = figure.subplots()
        for kind in KINDS:
            stays = [
                (leaver.at_s, left.n_bytes / 1000)
                for leaver, left in zip(self.leavers, self.left, strict=True)
                if kind_of(leaver) == kind
            ]
            panel.plot(*zip(*stays, strict=True), "o", markersize=4, label=kind)
        # Most had nothing yet, a few had everything.
        panel.set_yscale("symlog", linthresh=1.0)
        panel.set_ylim(bottom=-0.1)
        panel.set_title(self.load, fontsize="medium")
        panel.set_xlabel("arrival, seconds")
        panel.set_ylabel("kilobytes of the answer when the client left")
        panel.grid(alpha=0.3)
        panel.legend(title="clients that left", fontsize="small")


class LeaversDrill:
    """Let clients leave at random moments, and see what of their requests stays behind.

    A third leaves while it waits or soon after, a third in the middle of a stream, a third while its answer in one
    piece is made; half of each with a RST, half with a FIN. All of them are admitted. A first round makes the server
    grow what it needs for so many. The verdict: slots and queue are empty within a second after the last one has left,
    and no process has more threads, descriptors or memory than before.
    """

    options: ClassVar[list[click.Option]] = [
        click.Option(["-n", "--clients"], type=click.IntRange(6, 100_000), default=200, show_default=True),
        click.Option(["--seconds"], type=click.FloatRange(0.1, 86400), default=10.0, show_default=True,
                     help="In which they come."),
        click.Option(["--max-empty"], type=click.FloatRange(0), default=1.0, show_default=True,
                     help="Seconds until slots and queue are empty, at most."),
        *tone_options(0.02),
        click.Option(["--seed"], type=int, default=1, show_default=True, help="Of the moments."),
    ]  # fmt: skip

    def __init__(self, clients: int, seconds: float, max_empty: float, step_cost: float, step_wait: float,
                 seed: int) -> None:  # fmt: skip
        self.n_clients = clients
        self.seconds = seconds
        self.max_empty_s = max_empty
        self.tone = tone_values(step_cost, step_wait)
        self.seed = seed

    def run(self, target: Target, progress: Progress) -> LeaversResult:
        """See Scenario."""
        environment = self._environment(target) if target.url is None else {}
        step = progress.begin("leavers", 2)
        plan = plan_leavers(self.n_clients, self.seconds, self.seed)
        with target.server(environment) as server, LineProcess("tts_service.bench.leaver_process", []) as process:
            process.receive(Ready, START_TIMEOUT_S)
            read_idle(server.url)
            _round(process, server, plan_leavers(self.n_clients, self.seconds, self.seed - 1))
            step()
            before = read_family(server.pid)
            report, empty_s = _round(process, server, plan)
            after = _settled(server, before)
            step()
        engine = engine_of(target, environment) if target.url is None else "the server"
        load = f"{engine}: {self.n_clients} clients that leave, in {self.seconds:g} s"
        return LeaversResult(
            about=About.here(target.url),
            load=load,
            max_empty_s=self.max_empty_s,
            n_request_threads=self.n_clients + SPARE_THREADS,
            leavers=plan,
            left=report.left,
            empty_s=empty_s,
            before=before,
            after=after,
        )

    def _environment(self, target: Target) -> dict[str, str]:
        room = {
            "gateway.threads": str(self.n_clients + SPARE_THREADS),
            "gateway.max_requests": str(self.n_clients + SPARE_THREADS // 2),
            "pool.max_wait_s": "3600",
            "pool.queue_limit": str(8 * self.n_clients),
        }
        return environment_of(target, room, tone=self.tone)


def _round(process: LineProcess, server: Server, leavers: list[Leaver]) -> tuple[LeaversReport, float]:
    """Carry out a round; return its report, and how long after the last one's leaving the server had nothing to do."""
    process.send(Leavers(server.url, leavers))
    report = process.receive(LeaversReport, ROUND_TIMEOUT_S)
    while read_activity(server.url).n_in_progress:
        if time.monotonic() > report.last_left_s + EMPTY_TIMEOUT_S:
            raise Unavailable(f"the server is still at work {EMPTY_TIMEOUT_S:.0f} s after everybody has left")
        time.sleep(LOOK_S)
    return report, time.monotonic() - report.last_left_s


def _settled(server: Server, before: Sequence[Member]) -> list[Member]:
    """Return the processes as they are once closed connections have been noticed, or after a while."""
    deadline = time.monotonic() + SETTLE_TIMEOUT_S
    while True:
        after = read_family(server.pid)
        late = any(new.n_descriptors > old.n_descriptors for old, new in pairs(before, after))
        if not late or time.monotonic() > deadline:
            return after
        time.sleep(LOOK_S)


def _row(kind: str, resets: bool, left: Sequence[Left]) -> list[str]:
    counts = (sum(one.status == status for one in left) for status in (0, 200, 503))
    return [kind, "RST" if resets else "FIN", str(len(left)), *map(str, counts)]


def _change(old: Member, new: Member) -> list[str]:
    return [
        old.name,
        f"{old.n_threads} → {new.n_threads}",
        f"{old.n_descriptors} → {new.n_descriptors}",
        f"{old.rss_mib:.1f} → {new.rss_mib:.1f}",
    ]
