"""What a comparison has measured, and the figures of it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

import msgspec

from tts_service.bench.scenario import About
from tts_service.bench.thread_verdict import WorkerVerdict
from tts_service.bench.throughput_figures import RawRound, Round, median_of, percentile, ratio

OURS = "tts-service"
PIPER = "piper-http"


class Shape(msgspec.Struct, frozen=True):
    """How much was measured."""

    n_rounds: int
    n_requests: int
    concurrencies: list[int]
    n_connections: int


class Measurements(msgspec.Struct, frozen=True):
    """Rounds by server, in the order in which they were made: the nth of one was made beside the nth of another."""

    about: About
    shape: Shape
    voice: str
    versions: dict[str, str]
    buffered: dict[str, list[Round]] = {}
    """WAV in one piece."""
    streams: dict[str, list[Round]] = {}
    """As audio is made, where a server can."""
    raw: list[RawRound] = []
    """One beside each round of the buffered ones."""
    raw_streams: list[RawRound] = []
    """One beside each round of the streams."""
    lone: dict[str, list[Round]] = {}
    first_audio: dict[str, list[Round]] = {}
    paragraph: dict[str, list[Round]] = {}
    paragraph_alone_s: list[float] = []
    """One process of the untouched graph on one CPU, beside each round of the paragraph."""
    threads: list[WorkerVerdict] = []


def per_wall(one: Round) -> float:
    """Return seconds of audio per second."""
    return ratio(one.audio_s, one.wall_s)


def per_cpu(one: Round) -> float:
    """Return seconds of audio per CPU-second of the whole server; 0 where it was not seen."""
    return ratio(one.audio_s, one.server_cpu_s or 0.0)


def latency(one: Round) -> float:
    """Return the median time to the end of an answer."""
    return percentile([timing.total_s for timing in one.timings if not timing.problem], 50)


def first_share(one: Round) -> float:
    """Return the median time to the first audio over that to the end."""
    return median_of(ratio(t.first_audio_s, t.total_s) for t in one.timings if not t.problem) or 0.0


def at(rounds: Sequence[Round], concurrency: int) -> list[Round]:
    """Return the rounds with so many requests at once."""
    return [one for one in rounds if one.concurrency == concurrency]


def versus(
    ours: Sequence[Round], theirs: Sequence[Round], figure: Callable[[Round], float], concurrency: int = 1
) -> float | None:
    """Return the median over rounds of our figure over theirs from the same minute; None where there are none."""
    pairs = zip(at(ours, concurrency), at(theirs, concurrency), strict=True)
    return median_of(ratio(figure(one), figure(other)) for one, other in pairs)


def versus_raw(
    ours: Sequence[Round], raw: Sequence[RawRound], concurrency: int, *, by_cpu: bool = False
) -> float | None:
    """Return the same against the raw loops."""
    pairs = [pair for pair in zip(ours, raw, strict=True) if pair[0].concurrency == concurrency]
    if by_cpu:
        return median_of(ratio(per_cpu(one), limit.audio_per_cpu_s) for one, limit in pairs)
    return median_of(ratio(per_wall(one), limit.audio_per_wall_s) for one, limit in pairs)


def pss_mib(rounds: Sequence[Round], concurrency: int) -> float | None:
    """Return the memory after rounds of so many at once, the highest of them; None where it was not seen."""
    return max((one.usage.pss_mib for one in at(rounds, concurrency) if one.usage), default=None)


def pss_first_mib(rounds: Sequence[Round]) -> float | None:
    """Return the memory after the very first round."""
    return rounds[0].usage.pss_mib if rounds and rounds[0].usage else None


def n_dry(rounds: Sequence[Round]) -> int:
    """Return how often players would have run dry."""
    return sum(timing.n_dry for one in rounds for timing in one.timings)


def problems(measured: Measurements) -> list[str]:
    """Return the requests that failed."""
    kinds = (measured.buffered, measured.streams, measured.lone, measured.first_audio, measured.paragraph)
    return [
        f"{name}, {one.concurrency} at once: {timing.problem}"
        for kind in kinds
        for name, rounds in kind.items()
        for one in rounds
        for timing in one.timings
        if timing.problem
    ]


def medians(rounds: Sequence[Round], figure: Callable[[Round], float]) -> float:
    """Return the median of a figure over rounds."""
    return median(map(figure, rounds))
