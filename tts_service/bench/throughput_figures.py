"""From the rounds of the throughput scenario to its figures. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import median

import msgspec

from tts_service.bench.client_process import Timing
from tts_service.bench.cpu_reading import LocalCpu
from tts_service.bench.raw_loop import RawReport
from tts_service.bench.server_usage import Usage


class Round(msgspec.Struct, frozen=True):
    """One round of requests at one concurrency. Times in seconds."""

    concurrency: int
    wall_s: float
    audio_s: float
    """In the answers; made by the workers where answers are compressed."""
    engine_cpu_s: float | None
    """Of the workers during engine work, as they report it; None where a server reports nothing."""
    client_cpu_s: float
    timings: list[Timing]
    local_cpu: LocalCpu | None = None
    """Of the parts of a server like ours on this machine."""
    usage: Usage | None = None
    """Of a server's processes as a whole, where they are on this machine; memory and threads at the round's end."""

    @property
    def server_cpu_s(self) -> float | None:
        """CPU time of the server, as much of it as can be seen."""
        if self.usage:
            return self.usage.cpu_s
        return self.local_cpu.total_s if self.local_cpu else self.engine_cpu_s


class RawRound(msgspec.Struct, frozen=True):
    """One round of the raw loop."""

    reports: list[RawReport]

    @property
    def audio_per_wall_s(self) -> float:
        """Seconds of audio in a second, all processes together, without the end where some have nothing left to do."""
        return sum(report.audio_s / report.wall_s for report in self.reports)

    @property
    def audio_per_cpu_s(self) -> float:
        """Seconds of audio in a second of CPU time."""
        return sum(report.audio_s for report in self.reports) / sum(report.cpu_s for report in self.reports)


class Line(msgspec.Struct, frozen=True):
    """The figures of one concurrency: medians over its rounds, percentiles over all their requests."""

    concurrency: int
    n_ok: int
    n_failed: int
    audio_per_wall_s: float
    audio_per_cpu_s: float | None
    """Per CPU-second of the server; None where its CPU time cannot be seen."""
    cores: float | None
    """CPU time of the server over wall time: the cores that it got."""
    engine_cores: float | None
    """CPU time of engine work over wall time."""
    total_s: tuple[float, float]
    """Median and 95th percentile of the time to the end of an answer."""
    first_audio_s: tuple[float, float]
    """The same of the time to its first byte of audio."""
    cpu_ms: dict[str, float]
    """Milliseconds of CPU time for a second of audio, by where they were spent."""
    raw_ratio: float | None
    """Audio per wall second over that of the raw loop."""
    raw_cpu_ratio: float | None
    """Audio per CPU-second over that of the raw loop."""
    pss_mib: float | None
    """Memory of the server at the end of a round."""
    n_threads: int | None
    """Of all its processes, then."""


def figures(rounds: Sequence[Round], raw_rounds: Sequence[RawRound]) -> list[Line]:
    """Return a line for each concurrency, in the order in which they first come."""
    concurrencies = dict.fromkeys(one.concurrency for one in rounds)
    return [_line(c, [one for one in rounds if one.concurrency == c], raw_rounds) for c in concurrencies]


def _line(concurrency: int, rounds: Sequence[Round], raw_rounds: Sequence[RawRound]) -> Line:
    timings = [timing for one in rounds for timing in one.timings]
    good = [timing for timing in timings if not timing.problem]
    per_wall = _median(rounds, lambda one: ratio(one.audio_s, one.wall_s))
    per_cpu = median_of(ratio(one.audio_s, one.server_cpu_s) for one in rounds if one.server_cpu_s is not None)
    raw_wall = median(raw.audio_per_wall_s for raw in raw_rounds) if raw_rounds else None
    raw_cpu = median(raw.audio_per_cpu_s for raw in raw_rounds) if raw_rounds else None
    return Line(
        concurrency=concurrency,
        n_ok=len(good),
        n_failed=len(timings) - len(good),
        audio_per_wall_s=per_wall,
        audio_per_cpu_s=per_cpu,
        cores=median_of(ratio(one.server_cpu_s, one.wall_s) for one in rounds if one.server_cpu_s is not None),
        engine_cores=median_of(ratio(one.engine_cpu_s, one.wall_s) for one in rounds if one.engine_cpu_s is not None),
        total_s=_ends(timing.total_s for timing in good),
        first_audio_s=_ends(timing.first_audio_s for timing in good),
        cpu_ms=_cpu_ms(rounds),
        raw_ratio=ratio(per_wall, raw_wall) if raw_wall is not None else None,
        raw_cpu_ratio=ratio(per_cpu, raw_cpu) if raw_cpu is not None and per_cpu is not None else None,
        pss_mib=median_of(one.usage.pss_mib for one in rounds if one.usage and one.usage.pss_bytes),
        n_threads=max((one.usage.n_threads for one in rounds if one.usage), default=None),
    )


def _cpu_ms(rounds: Sequence[Round]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for one in rounds:
        parts = {}
        if one.engine_cpu_s is not None:
            parts["engine"] = one.engine_cpu_s
        elif one.server_cpu_s is not None:
            parts["server"] = one.server_cpu_s
        if (local := one.local_cpu) is not None:
            parts["rest of workers"] = local.workers_s - (one.engine_cpu_s or 0.0)
            parts |= {"dispatcher": local.dispatcher_s, "gateway": local.gateway_s}
        for name, cpu_s in {**parts, "client": one.client_cpu_s}.items():
            found.setdefault(name, []).append(1000 * ratio(cpu_s, one.audio_s))
    return {name: median(values) for name, values in found.items()}


def _median(rounds: Sequence[Round], figure: Callable[[Round], float]) -> float:
    return median(map(figure, rounds))


def median_of(values: Iterable[float]) -> float | None:
    """Return the median, None of nothing."""
    found = list(values)
    return median(found) if found else None


def _ends(values: Iterable[float]) -> tuple[float, float]:
    found = list(values)
    return percentile(found, 50), percentile(found, 95)


def ratio(part: float, whole: float) -> float:
    """Return part / whole, 0 where the whole is nothing."""
    return part / whole if whole > 0 else 0.0


def percentile(values: Sequence[float], percent: float) -> float:
    """Return a percentile, interpolated between the two nearest values (as numpy does by default); 0 of nothing."""
    if not values:
        return 0.0
    ordered = sorted(values)
    position = percent / 100 * (len(ordered) - 1)
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (position - low) * (ordered[high] - ordered[low])
