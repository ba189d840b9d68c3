"""The first-audio scenario: when streams begin, what share of their time that is, and whether they ever run dry."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any, ClassVar

import click
import msgspec

from tts_service.bench.apis import wanted_of
from tts_service.bench.client_process import Timing, client_process
from tts_service.bench.meter import Meter
from tts_service.bench.scenario import About, Progress, Table
from tts_service.bench.target import Target
from tts_service.bench.texts import TEN_SECONDS, sentences
from tts_service.bench.throughput import failed_requests, manner
from tts_service.bench.throughput_figures import Round, percentile, ratio
from tts_service.bench.throughput_tables import milliseconds

LONG = "a long sentence"
ALL = "all sentences"


class Streams(msgspec.Struct, frozen=True):
    """Rounds of one kind of text, so many streams at once."""

    text: str
    n_streams: int
    rounds: list[Round]

    @property
    def good(self) -> list[Timing]:
        """The answers that came whole."""
        return [timing for one in self.rounds for timing in one.timings if not timing.problem]

    @property
    def first_audio_s(self) -> tuple[float, float]:
        """Median and 95th percentile of the time to the first audio."""
        return _ends([timing.first_audio_s for timing in self.good])

    @property
    def total_s(self) -> tuple[float, float]:
        """The same of the time to the end of the answer."""
        return _ends([timing.total_s for timing in self.good])

    @property
    def share(self) -> float:
        """Median of the time to the first audio over that to the end."""
        return median(ratio(timing.first_audio_s, timing.total_s) for timing in self.good) if self.good else 0.0

    @property
    def n_dry(self) -> int:
        """Times that a player would have run dry, in all answers."""
        return sum(timing.n_dry for timing in self.good)

    @property
    def dry_s(self) -> float:
        """For how long, in all answers."""
        return sum(timing.dry_s for timing in self.good)


class FirstAudioResult(msgspec.Struct, frozen=True):
    """All streams of one command."""

    about: About
    load: str
    streams: list[Streams]

    def faults(self) -> list[str]:
        """See Result."""
        found = failed_requests([one for streams in self.streams for one in streams.rounds])
        for streams in self.streams:
            if streams.n_dry:
                where = f"{streams.text}, {streams.n_streams} at once"
                found.append(f"{where}: {streams.n_dry} underruns, {streams.dry_s:.2f} s in all")
        return found

    def tables(self) -> list[Table]:
        """See Result."""
        columns = ("text", "at once", "streams", "audio s p50", "first audio ms p50/p95", "end ms p50/p95",
                   "first / end", "underruns")  # fmt: skip
        return [Table(self.load, columns, list(map(_row, self.streams)))]

    def draw(self, figure: Any) -> None:
        """See Result."""
        panels = figure.subplots(2, 1)
        for panel, text in zip(panels, (LONG, ALL), strict=True):
            for streams in (one for one in self.streams if one.text == text):
                times_s = sorted(timing.first_audio_s for timing in streams.good)
                shares = [(n + 1) / len(times_s) for n in range(len(times_s))]
                panel.step([1000 * s for s in times_s], shares, where="post", label=f"{streams.n_streams} at once")
            panel.set_title(text, fontsize="medium")
            panel.set_ylabel("share of streams")
            panel.set_xlim(left=0)
            panel.set_ylim(0, 1.02)
            panel.grid(alpha=0.3)
            panel.legend(fontsize="small", loc="lower right")
        panels[-1].set_xlabel("milliseconds to the first audio")


class FirstAudio:
    """Measure when streams begin to sound, and whether they keep up with a listener.

    One long sentence (about ten seconds of audio) again and again, then the 40 fixed sentences. A player that plays
    what comes as it comes starts with the first audio; where nothing is left to play for more than 50 ms, that is an
    underrun. The verdict: no request failed, and no underrun.
    """

    any_server: ClassVar[bool] = True
    options: ClassVar[list[click.Option]] = [
        click.Option(["-s", "--streams"], type=click.IntRange(1, 1000), multiple=True, default=(1,),
                     show_default=True, help="Streams at once; may be repeated."),
        click.Option(["-n", "--requests"], type=click.IntRange(1, 1_000_000), default=20, show_default=True,
                     help="Requests of each kind of text in each round."),
        click.Option(["--rounds"], type=click.IntRange(1, 1000), default=2, show_default=True, help="Of each."),
        click.Option(["--fresh/--kept"], default=False, show_default=True, help="A connection for each request, or "
                     "one kept by each client."),
    ]  # fmt: skip

    def __init__(self, streams: tuple[int, ...], requests: int, rounds: int, fresh: bool) -> None:
        self.streams = streams
        self.texts = {LONG: [TEN_SECONDS] * requests, ALL: sentences(requests)}
        self.n_rounds = rounds
        self.kept = not fresh

    def run(self, target: Target, progress: Progress) -> FirstAudioResult:
        """See Scenario."""
        wanted = wanted_of(target.api, None, None, target.wanted)
        step = progress.begin("first-audio", self.n_rounds * len(self.streams) * len(self.texts))
        found: dict[tuple[str, int], list[Round]] = {}
        with target.server() as server, client_process() as client:
            meter = Meter(server, client)
            meter.warm_up(wanted, self.texts[ALL])
            for _ in range(self.n_rounds):
                for n_streams in self.streams:
                    for text, texts in self.texts.items():
                        one = meter.measure(wanted, texts, n_streams, kept=self.kept)
                        found.setdefault((text, n_streams), []).append(one)
                        step()
        load = f"{self.n_rounds} x {len(self.texts[ALL])} requests of each text, {manner(wanted)}"
        streams = [Streams(text, n_streams, rounds) for (text, n_streams), rounds in found.items()]
        return FirstAudioResult(About.here(target.url), load, streams)


def _ends(values: Sequence[float]) -> tuple[float, float]:
    return percentile(values, 50), percentile(values, 95)


def _row(streams: Streams) -> list[str]:
    return [
        streams.text,
        str(streams.n_streams),
        str(len(streams.good)),
        f"{percentile([timing.audio_s for timing in streams.good], 50):.2f}",
        milliseconds(streams.first_audio_s),
        milliseconds(streams.total_s),
        f"{streams.share:.2f}",
        str(streams.n_dry),
    ]
