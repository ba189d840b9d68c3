"""The paragraph scenario: one text of ten sentences, alone on the server, and by one process without a server."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from statistics import median
from typing import Any, ClassVar

import click
import msgspec

from tts_service.bench.apis import APIS, wanted_of, whole_wav
from tts_service.bench.client_process import client_process
from tts_service.bench.meter import Meter
from tts_service.bench.raw_loop import RawLoop, raw_loop
from tts_service.bench.scenario import About, Progress, Table
from tts_service.bench.target import Target
from tts_service.bench.texts import PARAGRAPH
from tts_service.bench.throughput import failed_requests, manner
from tts_service.bench.throughput_figures import Round, ratio
from tts_service.settings import load as load_settings


class Told(msgspec.Struct, frozen=True):
    """The text, told again and again in one way."""

    manner: str
    rounds: list[Round]

    @property
    def total_s(self) -> float:
        """Median of the time to the end of the answer."""
        return self._median("total_s")

    @property
    def first_audio_s(self) -> float:
        """Median of the time to its first audio."""
        return self._median("first_audio_s")

    @property
    def audio_s(self) -> float:
        """Median of the audio in an answer."""
        return self._median("audio_s")

    def _median(self, name: str) -> float:
        good = [timing for one in self.rounds for timing in one.timings if not timing.problem]
        return median(getattr(timing, name) for timing in good) if good else 0.0


class ParagraphResult(msgspec.Struct, frozen=True):
    """All answers of one command."""

    about: About
    load: str
    told: list[Told]
    alone_s: list[float]
    """Times of one process without a server; [] where the engine is not known."""

    def faults(self) -> list[str]:
        """See Result."""
        return failed_requests([one for told in self.told for one in told.rounds])

    def tables(self) -> list[Table]:
        """See Result."""
        alone_s = median(self.alone_s) if self.alone_s else 0.0
        rows = [
            [told.manner, f"{told.audio_s:.1f}", f"{told.first_audio_s:.3f}", f"{told.total_s:.3f}",
             f"{ratio(told.total_s, alone_s):.2f}" if alone_s else "-"] for told in self.told
        ]  # fmt: skip
        if alone_s:
            rows.append(["one process alone", "", "", f"{alone_s:.3f}", "1.00"])
        columns = ("answer", "audio s", "s to first audio", "s to the end", "of one process alone")
        return [Table(self.load, columns, rows)]

    def draw(self, figure: Any) -> None:
        """See Result."""
        panel = figure.subplots()
        names = [told.manner for told in self.told]
        panel.bar(names, [told.total_s for told in self.told], width=0.5, label="to the end")
        panel.bar(names, [told.first_audio_s for told in self.told], width=0.3, label="to the first audio")
        if self.alone_s:
            panel.axhline(median(self.alone_s), color="black", linewidth=1, label="one process alone, to the end")
        panel.set_ylabel("seconds")
        # Room for the legend above the bars.
        panel.set_ylim(0, 1.3 * panel.get_ylim()[1])
        panel.legend(fontsize="small", loc="upper right")


class Paragraph:
    """Measure how long a text of ten sentences takes, one at a time.

    In one piece and streamed. With a server that this command starts, the same engine in one pinned process, without a
    server, speaks the text in between. The verdict: no request failed.
    """

    any_server: ClassVar[bool] = True
    options: ClassVar[list[click.Option]] = [
        click.Option(["--rounds"], type=click.IntRange(1, 1000), default=7, show_default=True, help="Of each way."),
    ]  # fmt: skip

    def __init__(self, rounds: int) -> None:
        self.n_rounds = rounds

    def run(self, target: Target, progress: Progress) -> ParagraphResult:
        """See Scenario."""
        ways = [whole_wav(target.api, target.wanted)]
        if APIS[target.api].streamed is None:
            ways.append(wanted_of(target.api, None, True, target.wanted))
        step = progress.begin("paragraph", self.n_rounds)
        rounds: list[list[Round]] = [[] for _ in ways]
        alone_s = []
        with target.server() as server, client_process() as client, _alone(target) as raw:
            meter = Meter(server, client)
            for wanted in ways:
                meter.warm_up(wanted, [PARAGRAPH])
            for _ in range(self.n_rounds):
                for wanted, found in zip(ways, rounds, strict=True):
                    found.append(meter.measure(wanted, [PARAGRAPH], 1))
                if raw is not None:
                    alone_s += [report.wall_s for report in raw.measure([PARAGRAPH])]
                step()
        told = [Told(manner(wanted), found) for wanted, found in zip(ways, rounds, strict=True)]
        load = f"A text of ten sentences, {len(PARAGRAPH)} characters, {self.n_rounds} times; medians"
        return ParagraphResult(About.here(target.url), load, told, alone_s)


def _alone(target: Target) -> AbstractContextManager[RawLoop | None]:
    if target.url is not None:
        return nullcontext()
    flags = {f"pool.{name}": value for name, value in target.flags.items()}
    return raw_loop(load_settings(target.config, os.environ, {**flags, "pool.workers": "1"}).settings)
