"""The encoders scenario: what each format, and the time-stretch, costs. Runs in this process, on one thread."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, ClassVar, get_args

import click
import msgspec
import numpy as np

from tts_service.bench.own_settings import must_be_own
from tts_service.bench.scenario import About, Progress, Table
from tts_service.bench.target import Target
from tts_service.gateway.encoders import Format, fitting_rate, make_encoder
from tts_service.gateway.pcm import Float32, Int16, to_int16
from tts_service.gateway.stretch import Stretch
from tts_service.settings import GatewaySettings

RATE_HZ = 24000
# As a stream's.
CHUNK_S = 0.5
STRETCH = "stretch ×2"


class Cost(msgspec.Struct, frozen=True):
    """One way of finishing audio, run again and again."""

    name: str
    rate_hz: int
    audio_s: float
    cpu_s: list[float]
    """Of each run."""
    n_bytes: int
    digests: list[str]

    @property
    def audio_per_cpu(self) -> float:
        """Median seconds of audio for a second of CPU time."""
        return self.audio_s / max(1e-9, median(self.cpu_s))

    @property
    def kbps(self) -> float:
        """Thousands of bits for a second of audio."""
        return 8 * self.n_bytes / self.audio_s / 1000


class EncodersResult(msgspec.Struct, frozen=True):
    """All costs of one command."""

    about: About
    load: str
    costs: list[Cost]

    def faults(self) -> list[str]:
        """See Result."""
        return [
            f"{cost.name}: its bytes are not the same each time" for cost in self.costs if len(set(cost.digests)) > 1
        ]

    def tables(self) -> list[Table]:
        """See Result."""
        columns = ("format", "Hz", "audio-s per CPU-s", "kbit/s")
        return [Table(self.load, columns, [_row(cost) for cost in self.costs])]

    def draw(self, figure: Any) -> None:
        """See Result."""
        panel = figure.subplots()
        panel.barh([cost.name for cost in self.costs], [cost.audio_per_cpu for cost in self.costs])
        panel.set_xscale("log")
        panel.set_xlabel("seconds of audio for a second of CPU time")
        panel.set_title(self.load, fontsize="medium")
        panel.grid(alpha=0.3, axis="x")
        panel.invert_yaxis()


class Encoders:
    """Encode the same audio in every format, in chunks of half a second, and stretch it; no server takes part.

    In turns, so that other load hits all alike; the median of each is shown. The verdict: the same bytes each time.
    """

    options: ClassVar[list[click.Option]] = [
        click.Option(["-n", "--repeats"], type=click.IntRange(1, 1000), default=5, show_default=True,
                     help="Of each format."),
        click.Option(["--seconds"], type=click.FloatRange(1, 3600), default=30, show_default=True,
                     help="Of audio."),
    ]  # fmt: skip

    def __init__(self, repeats: int, seconds: float) -> None:
        self.repeats = repeats
        self.seconds = seconds

    def run(self, target: Target, progress: Progress) -> EncodersResult:
        """See Scenario."""
        must_be_own(target, "measures its own encoders")
        names = [*get_args(Format), STRETCH]
        step = progress.begin("encoders", self.repeats * len(names))
        found: dict[str, list[tuple[float, bytes]]] = {}
        for _ in range(self.repeats):
            for name in names:
                found.setdefault(name, []).append(_timed(_work(name, self.seconds)))
                step()
        costs = [
            Cost(
                name=name,
                rate_hz=RATE_HZ if name == STRETCH else fitting_rate(name, RATE_HZ),
                audio_s=self.seconds,
                cpu_s=[cpu_s for cpu_s, _ in runs],
                n_bytes=len(runs[0][1]),
                digests=[hashlib.sha256(data).hexdigest() for _, data in runs],
            )
            for name, runs in found.items()
        ]
        load = f"{self.seconds:g} s of audio like speech, {self.repeats} times, default bit rates"
        return EncodersResult(About.here(None), load, costs)


def like_speech(duration_s: float, rate_hz: int) -> Float32:
    """Return voiced and noisy syllables with pauses, (n,): silence or a tone would be cheaper than what people hear."""
    seconds = np.arange(round(duration_s * rate_hz)) / rate_hz
    pitch_hz = 120 + 20 * np.sin(2 * np.pi * 0.7 * seconds)
    phase = 2 * np.pi * np.cumsum(pitch_hz) / rate_hz
    voiced = sum(np.sin(n * phase) / n for n in range(1, 20))
    noise = np.random.default_rng(0).standard_normal(len(seconds))
    syllables = np.clip(np.sin(2 * np.pi * 2.5 * seconds), 0, 1)
    hisses = np.clip(np.sin(2 * np.pi * 1.25 * seconds + 2), 0, 1) ** 4
    audio: Float32 = (0.15 * voiced * syllables + 0.05 * noise * hisses).astype(np.float32)
    return audio


def _work(name: str, duration_s: float) -> Callable[[], bytes]:
    """Return what is to be timed; what it needs is made beforehand."""
    rate_hz = RATE_HZ if name == STRETCH else fitting_rate(name, RATE_HZ)
    audio = like_speech(duration_s, rate_hz)
    n_chunk = round(CHUNK_S * rate_hz)
    if name == STRETCH:
        return lambda: _stretched(np.split(audio, range(n_chunk, len(audio), n_chunk)))
    pcm = to_int16(audio)
    return lambda: _encoded(name, rate_hz, np.split(pcm, range(n_chunk, len(pcm), n_chunk)))


def _encoded(name: str, rate_hz: int, chunks: Sequence[Int16]) -> bytes:
    settings = GatewaySettings()
    encoder = make_encoder(name, rate_hz, settings.mp3_kbps, settings.opus_kbps, settings.aac_kbps)
    data = b"".join([encoder.begin(None), *map(encoder.encode, chunks), encoder.end()])
    encoder.close()
    return data


def _stretched(chunks: Sequence[Float32]) -> bytes:
    stretch = Stretch(RATE_HZ, 2.0)
    return np.concatenate([*map(stretch.push, chunks), stretch.finish()]).tobytes()


def _timed(work: Callable[[], bytes]) -> tuple[float, bytes]:
    started_s = time.process_time()
    data = work()
    return time.process_time() - started_s, data


def _row(cost: Cost) -> Sequence[str]:
    return [cost.name, str(cost.rate_hz), f"{cost.audio_per_cpu:.0f}", f"{cost.kbps:.0f}"]
