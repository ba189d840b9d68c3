"""The longtext scenario: how much sooner several workers have spoken one long text than a single one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from statistics import median
from typing import Any, ClassVar

import click
import msgspec

from tts_service.bench.callers import Caller, Calls, Heard, call, callers
from tts_service.bench.own_settings import engine_of, environment_of, must_be_own, tone_options, tone_values
from tts_service.bench.scenario import About, Progress, Table
from tts_service.bench.target import Target
from tts_service.bench.texts import PAIRS
from tts_service.bench.throughput_figures import ratio
from tts_service.errors import UsageError


class Speed(msgspec.Struct, frozen=True):
    """One text, spoken again and again by a server with so many workers."""

    n_workers: int
    streamed: bool
    heard: list[Heard]

    @property
    def total_s(self) -> float:
        """Median of the time to the end of the answer."""
        return median(one.total_s for one in self.heard)

    @property
    def first_audio_s(self) -> float:
        """Median of the time to the first byte of audio."""
        return median(one.first_audio_s or 0.0 for one in self.heard)


class LongtextResult(msgspec.Struct, frozen=True):
    """All answers of one command."""

    about: About
    load: str
    max_ratio: float
    speeds: list[Speed]

    def ratio_of(self, speed: Speed) -> float:
        """Return the time of an answer over that by one worker."""
        (one,) = (one for one in self.speeds if one.n_workers == 1 and one.streamed is speed.streamed)
        return ratio(speed.total_s, one.total_s)

    def faults(self) -> list[str]:
        """See Result."""
        found = []
        for speed in self.speeds:
            where = f"{speed.n_workers} workers, {'streamed' if speed.streamed else 'in one piece'}"
            found += [f"{where}: {one.problem}" for one in speed.heard if one.problem][:1]
            if speed.n_workers > 1 and self.ratio_of(speed) > self.max_ratio:
                reached = f"takes {self.ratio_of(speed):.2f} of the time of one worker"
                found.append(f"{where}: {reached}, {self.max_ratio:g} is the most")
        for streamed in (True, False):
            if len({one.digest for speed in self.speeds if speed.streamed is streamed for one in speed.heard}) > 1:
                found.append("the audio depends on the number of workers")
        return found

    def tables(self) -> list[Table]:
        """See Result."""
        return [Table(self.load, _COLUMNS, [_row(speed, self.ratio_of(speed)) for speed in self.speeds])]

    def draw(self, figure: Any) -> None:
        """See Result."""
        panel = figure.subplots()
        for n, streamed in enumerate((False, True)):
            found = [speed for speed in self.speeds if speed.streamed is streamed]
            places = [place + 0.4 * n for place in range(len(found))]
            bars = panel.bar(places, [speed.total_s for speed in found], width=0.35)
            bars.set_label("streamed" if streamed else "in one piece")
        names = [f"{s.n_workers} worker{'s' if s.n_workers > 1 else ''}" for s in found]
        panel.set_xticks([place + 0.2 for place in range(len(found))], names)
        limit_s = self.max_ratio * min(speed.total_s for speed in self.speeds if speed.n_workers == 1)
        panel.axhline(limit_s, color="black", linestyle=":", label=f"{self.max_ratio:g} of one worker's time")
        panel.set_title(self.load, fontsize="medium")
        panel.set_ylabel("seconds to the end of the answer")
        panel.grid(alpha=0.3, axis="y")
        panel.legend(fontsize="small")


class Longtext:
    """Speak a text of ten sentences with several workers and with one, and compare the times.

    One request at a time, in one piece and streamed, in turns between two servers that are otherwise idle. The verdict:
    the time is at most so much of that with one worker, and the audio is the same.
    """

    options: ClassVar[list[click.Option]] = [
        click.Option(["-n", "--repeats"], type=click.IntRange(1, 1000), default=5, show_default=True,
                     help="Of each way."),
        click.Option(["--sentences"], type=click.IntRange(2, 10_000), default=10, show_default=True,
                     help="Of the text."),
        click.Option(["--max-ratio"], type=click.FloatRange(0), default=0.6, show_default=True,
                     help="Time over that with one worker, at most."),
        *tone_options(),
    ]  # fmt: skip

    def __init__(self, repeats: int, sentences: int, max_ratio: float, step_cost: float, step_wait: float) -> None:
        self.repeats = repeats
        text = " ".join(PAIRS[n % len(PAIRS)] for n in range((sentences + 1) // 2))
        self.n_sentences = 2 * ((sentences + 1) // 2)
        self.bodies = [
            {"input": text, "response_format": "wav", "stream": False},
            {"input": text, "response_format": "pcm", "stream": True},
        ]
        self.max_ratio = max_ratio
        self.tone = tone_values(step_cost, step_wait)

    def run(self, target: Target, progress: Progress) -> LongtextResult:
        """See Scenario."""
        must_be_own(target, "compares servers with different numbers of workers")
        n_workers = int(target.flags.get("workers", "2"))
        if n_workers < 2:
            raise UsageError(f"--workers {n_workers}: expected at least 2, to be compared with 1")
        environment = environment_of(target, {}, tone=self.tone)
        step = progress.begin("longtext", self.repeats)
        heard: dict[tuple[int, bool], list[Heard]] = {}
        with ExitStack() as stack, callers() as client:
            servers = {n: stack.enter_context(target.server(environment, workers=str(n))) for n in (1, n_workers)}
            for server in servers.values():
                call(client, Calls(server.url, self.bodies, [Caller([0, 1])]))
            for _ in range(self.repeats):
                for n, server in servers.items():
                    for one in call(client, Calls(server.url, self.bodies, [Caller([0, 1])])):
                        heard.setdefault((n, one.request == 1), []).append(one)
                step()
        load = f"{engine_of(target, environment)}: a text of {self.n_sentences} sentences, {self.repeats} times"
        speeds = [Speed(n, streamed, found) for (n, streamed), found in heard.items()]
        return LongtextResult(About.here(None), load, self.max_ratio, speeds)


_COLUMNS = ("workers", "sent", "s to the end", "of one worker's", "ms to first audio")


def _row(speed: Speed, ratio_: float) -> Sequence[str]:
    return [
        str(speed.n_workers),
        "streamed" if speed.streamed else "in one piece",
        f"{speed.total_s:.2f}",
        f"{ratio_:.2f}",
        f"{1000 * speed.first_audio_s:.0f}",
    ]
