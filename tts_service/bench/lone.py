"""The lone scenario: one request at a time on a server that has nothing else to do."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any, ClassVar

import click
import msgspec

from tts_service.bench.apis import whole_wav
from tts_service.bench.client_process import Timing, client_process
from tts_service.bench.meter import Meter
from tts_service.bench.scenario import About, Progress, Table
from tts_service.bench.target import Target
from tts_service.bench.texts import SENTENCES, sentences
from tts_service.bench.throughput import failed_requests, manner
from tts_service.bench.throughput_figures import Round, figures, percentile, ratio
from tts_service.bench.throughput_tables import milliseconds, number

# Characters of short, middling and long sentences.
_CLASSES = ((1, 49), (50, 99), (100, 10_000))


class Lone(msgspec.Struct, frozen=True):
    """The figures of the sentences of one class."""

    label: str
    n_requests: int
    audio_s: float
    """Median of the audio of an answer."""
    total_s: tuple[float, float]
    """Median and 95th percentile of the time to the end of an answer."""
    real_time_factor: float
    """Median of this time over the length of the audio."""


class LoneResult(msgspec.Struct, frozen=True):
    """All answers of one command."""

    about: About
    load: str
    texts: list[str]
    rounds: list[Round]

    def faults(self) -> list[str]:
        """See Result."""
        return failed_requests(self.rounds)

    @property
    def lines(self) -> list[Lone]:
        """The figures of all sentences, then by their length."""
        return lone_figures(self.texts, self.rounds)

    def tables(self) -> list[Table]:
        """See Result."""
        rows = [
            [one.label, str(one.n_requests), f"{one.audio_s:.2f}", milliseconds(one.total_s),
             f"{one.real_time_factor:.3f}"] for one in self.lines
        ]  # fmt: skip
        columns = ("characters", "requests", "audio s p50", "latency ms p50/p95", "latency / audio")
        (line,) = figures(self.rounds, [])
        costs = [[number(line.cores, 2), number(line.audio_per_cpu_s, 1), number(line.pss_mib, 0)]]
        return [
            Table(self.load, columns, rows),
            Table("The server meanwhile", ("cores", "audio-s per CPU-s", "memory MiB (PSS)"), costs),
        ]

    def draw(self, figure: Any) -> None:
        """See Result."""
        panel = figure.subplots()
        good = [timing for one in self.rounds for timing in one.timings if not timing.problem]
        panel.plot([timing.audio_s for timing in good], [1000 * timing.total_s for timing in good], "o", alpha=0.5)
        panel.set_xlabel("seconds of audio in the answer")
        panel.set_ylabel("milliseconds to its end")
        panel.set_xlim(left=0)
        panel.set_ylim(bottom=0)
        panel.grid(alpha=0.3)


class LoneSentence:
    """Measure how long one request takes on an idle server, to the end of the file.

    One request at a time, in one piece, over the 40 fixed sentences of 20 to 230 characters. The verdict: no request
    failed.
    """

    any_server: ClassVar[bool] = True
    options: ClassVar[list[click.Option]] = [
        click.Option(["-n", "--requests"], type=click.IntRange(1, 1_000_000), default=len(SENTENCES),
                     show_default=True, help="Requests of each round."),
        click.Option(["--rounds"], type=click.IntRange(1, 1000), default=3, show_default=True, help="Of them."),
    ]  # fmt: skip

    def __init__(self, requests: int, rounds: int) -> None:
        self.texts = sentences(requests)
        self.n_rounds = rounds

    def run(self, target: Target, progress: Progress) -> LoneResult:
        """See Scenario."""
        wanted = whole_wav(target.api, target.wanted)
        step = progress.begin("lone", self.n_rounds)
        rounds = []
        with target.server() as server, client_process() as client:
            meter = Meter(server, client)
            meter.warm_up(wanted, self.texts)
            for _ in range(self.n_rounds):
                rounds.append(meter.measure(wanted, self.texts, 1))
                step()
        load = f"{self.n_rounds} x {len(self.texts)} sentences, one at a time, {manner(wanted)}"
        return LoneResult(About.here(target.url), load, self.texts, rounds)


def lone_figures(texts: Sequence[str], rounds: Sequence[Round]) -> list[Lone]:
    """Return the figures of all answers, then of those to the texts of each length that there are."""
    good = [timing for one in rounds for timing in one.timings if not timing.problem]
    found = [_figures("all", good)]
    for low, high in _CLASSES:
        lengths = [len(text) for text in texts if low <= len(text) <= high]
        if lengths:
            of_class = [timing for timing in good if low <= len(texts[timing.text]) <= high]
            found.append(_figures(f"{min(lengths)}-{max(lengths)}", of_class))
    return found


def _figures(label: str, timings: Sequence[Timing]) -> Lone:
    times_s = [timing.total_s for timing in timings]
    return Lone(
        label=label,
        n_requests=len(timings),
        audio_s=median(timing.audio_s for timing in timings) if timings else 0.0,
        total_s=(percentile(times_s, 50), percentile(times_s, 95)),
        real_time_factor=median(ratio(one.total_s, one.audio_s) for one in timings) if timings else 0.0,
    )
