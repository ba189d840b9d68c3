"""The soak scenario: mixed load for a long time, and what of it stays behind in each process."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import click
import msgspec

from tts_service import procfs
from tts_service.bench.family import descendants
from tts_service.bench.scenario import About, Progress, Table
from tts_service.bench.soak_figures import Line, ProcessSample, Sample, line_of, still_grows
from tts_service.bench.soak_load import Clients
from tts_service.bench.target import Target
from tts_service.errors import UsageError
from tts_service.room import GATEWAY_TASKS
from tts_service.settings import load

# Between the last answer and a sample: connections are closed, and the dispatcher has looked at its workers once.
SETTLE_S = 1.5
MIN_SAMPLES = 6
_MAX_PROBLEMS_SHOWN = 5


class SoakResult(msgspec.Struct, frozen=True):
    """All samples of one soak."""

    about: About
    minutes: float
    warm_up_samples: int
    max_growth_mib: float
    max_threads: int
    """Of any process: those of a gateway process with all its request threads."""
    counts: dict[str, int]
    problems: list[str]
    samples: list[Sample]

    def series(self) -> dict[int, list[tuple[float, ProcessSample]]]:
        """Return the samples after the warm-up by process."""
        found: dict[int, list[tuple[float, ProcessSample]]] = {}
        for sample in self.samples[self.warm_up_samples :]:
            for process in sample.processes:
                found.setdefault(process.pid, []).append((sample.at_s, process))
        return found

    @property
    def lines(self) -> list[Line]:
        """The figures of every process that lived through it all."""
        n = len(self.samples) - self.warm_up_samples
        return [line_of(series) for series in self.series().values() if len(series) == n]

    def faults(self) -> list[str]:
        """See Result."""
        found = [f"a request failed: {problem}" for problem in self.problems[:_MAX_PROBLEMS_SHOWN]]
        n = len(self.samples) - self.warm_up_samples
        for series in self.series().values():
            name = f"{series[0][1].name}, pid {series[0][1].pid}"
            if len(series) != n:
                found.append(f"{name}: it did not live through it all")
                continue
            line = line_of(series)
            if line.grown_mib > self.max_growth_mib:
                found.append(f"{name}: memory grows by {line.slope_mib_h:.1f} ± {line.error_mib_h:.1f} MiB an hour")
            if line.name.startswith("tts-worker") and line.threads[0] != line.threads[1]:
                found.append(f"{name}: {line.threads[0]} to {line.threads[1]} threads")
            if line.threads[1] > self.max_threads:
                found.append(f"{name}: {line.threads[1]} threads, {self.max_threads} are the most it may have")
            # A gateway makes its request threads when they are wanted, up to its settings.
            counted = (
                ("descriptors", "sockets") if line.name == "tts-gateway" else ("threads", "descriptors", "sockets")
            )
            for what in counted:
                if still_grows([getattr(sample, what) for _, sample in series]):
                    found.append(f"{name}: the number of {what} still grows")
        last = self.samples[-1]
        found += [f"a zombie: {zombie}" for zombie in last.zombies]
        found += [f"a temporary file: {file}" for file in last.files]
        return found

    def tables(self) -> list[Table]:
        """See Result."""
        what = ", ".join(f"{n} {kind}" for kind, n in sorted(self.counts.items()))
        title = f"{self.minutes:g} minutes: {what}"
        return [Table(title, _COLUMNS, [_row(line) for line in self.lines])]

    def draw(self, figure: Any) -> None:
        """See Result."""
        from tts_service.bench.soak_plot import draw

        draw(self.samples, self.warm_up_samples, figure)


class Soak:
    """Mixed load for a long time: whole answers, streams, clients that leave, bad requests, fresh and kept connections.

    Every now and then all clients pause, and memory, threads, descriptors and sockets of each process of the server are
    read. After the warm-up none may grow: memory by more than its noise, the others at all. No zombie and no temporary
    file may be left. The server is this command's own; the embedded voice, unless something else is said.
    """

    options: ClassVar[list[click.Option]] = [
        click.Option(["--minutes"], type=click.FloatRange(0.1, 10_000), default=30.0, show_default=True),
        click.Option(["--samples"], type=click.IntRange(MIN_SAMPLES, 10_000), default=90, show_default=True,
                     help="How often all pause and the processes are read."),
        click.Option(["--warm-up"], type=click.FloatRange(0, 0.8), default=0.2, show_default=True,
                     help="Share of the samples that counts as warm-up."),
        click.Option(["--clients"], type=click.IntRange(1, 64), default=4, show_default=True),
        click.Option(["--max-growth"], type=click.FloatRange(0), default=4.0, show_default=True,
                     help="MiB by which a process may surely grow in the time measured."),
        click.Option(["--seed"], type=int, default=1, show_default=True, help="Of the requests."),
    ]  # fmt: skip

    def __init__(
        self, minutes: float, samples: int, warm_up: float, clients: int, max_growth: float, seed: int
    ) -> None:
        self.minutes = minutes
        self.n_samples = samples
        self.n_warm_up = round(samples * warm_up)
        self.n_clients = clients
        self.max_growth = max_growth
        self.seed = seed

    def run(self, target: Target, progress: Progress) -> SoakResult:
        """See Scenario."""
        if target.url is not None:
            raise UsageError("soak reads the processes of its server; it starts its own; leave out --url")
        step = progress.begin("soak", self.n_samples)
        samples = []
        with tempfile.TemporaryDirectory(prefix="tts-soak-") as folder:
            place = Path(folder)
            homes = dict.fromkeys(("TMPDIR", "HOME", "XDG_CACHE_HOME"), folder)
            with target.server(homes) as server:
                clients = Clients(server.url, self.n_clients, self.seed)
                clients.start()
                started_s = time.monotonic()
                for n in range(1, self.n_samples + 1):
                    clients.resume()
                    due_s = started_s + 60 * self.minutes * n / self.n_samples
                    time.sleep(max(0.1, due_s - SETTLE_S - time.monotonic()))
                    clients.park()
                    time.sleep(SETTLE_S)
                    samples.append(take_sample(server.pid, time.monotonic() - started_s, place))
                    step()
                clients.end()
        counts, problems = dict(clients.counts), clients.problems
        about = About.here(None)
        most = load(target.config, os.environ, {}).settings.gateway.threads + GATEWAY_TASKS
        return SoakResult(about, self.minutes, self.n_warm_up, self.max_growth, most, counts, problems, samples)


def take_sample(top_pid: int, at_s: float, place: Path) -> Sample:
    """Read every process from `top_pid` down, and the files in `place`."""
    processes, zombies = [], []
    for pid in (top_pid, *sorted(descendants(top_pid))):
        name, state = _name_and_state(pid)
        if state == "Z":
            zombies.append(f"{name}, pid {pid}")
        elif state:
            targets = _descriptors(pid)
            n_sockets = sum(target.startswith("socket:") for target in targets)
            # Not all of PSS: that of libraries changes with who else on the machine has them loaded.
            own = procfs.own_bytes(pid)
            processes.append(ProcessSample(pid, name, own, procfs.live_threads(pid), len(targets), n_sockets))
    files = [str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()]
    return Sample(at_s, processes, zombies, files)


def _name_and_state(pid: int) -> tuple[str, str]:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "", ""
    return text[text.index("(") + 1 : text.rindex(")")], text.rpartition(")")[2].split()[0]


def _descriptors(pid: int) -> list[str]:
    found = []
    folder = f"/proc/{pid}/fd"
    try:
        for number in os.listdir(folder):
            found.append(os.readlink(f"{folder}/{number}"))
    except OSError:
        pass
    return found


_COLUMNS = ("process", "pid", "MiB first, last", "MiB/h", "±", "threads", "descriptors", "sockets")


def _row(line: Line) -> Sequence[str]:
    return [
        line.name,
        str(line.pid),
        f"{line.first_mib:.1f}, {line.last_mib:.1f}",
        f"{line.slope_mib_h:+.2f}",
        f"{line.error_mib_h:.2f}",
        *(f"{low}" if low == high else f"{low}-{high}" for low, high in (line.threads, line.descriptors, line.sockets)),
    ]
