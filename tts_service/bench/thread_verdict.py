"""The verdict of the threads drill, from the readings after each connection. Pure.

What it looks for is a server whose synthesis slows down as connections come and go: threads that stay behind, and then
barriers that sleep instead of spinning, which shows as voluntary context switches and as cores not obtained.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from tts_service.bench.readings import Reading, WorkerReading

# Effective cores are compared over so many connections at either end, or half of a shorter drill.
CORES_WINDOW = 10


class Limits(msgspec.Struct, frozen=True):
    """What still counts as the same."""

    cores_ratio: float = 0.95
    """Effective cores of the last ten connections over those of the first ten, at least."""
    switches_growth: float = 2.0
    """Voluntary switches per second of audio in the last tenth of the connections over those in the first, at most."""
    switches_floor: float = 50.0
    """Fewer switches per second of audio than this in the first tenth count as this many.

    A healthy worker makes a handful, for its messages, and twice a handful is no fault; teams that have begun to
    sleep in their barriers make thousands.
    """


@dataclass(frozen=True)
class Work:
    """What a worker did between two readings."""

    switches: int
    busy_s: float
    cpu_s: float
    audio_s: float

    @classmethod
    def between(cls, before: WorkerReading, after: WorkerReading) -> Work:
        """Return the differences of the counters."""
        return cls(
            after.voluntary_switches - before.voluntary_switches,
            after.busy_seconds - before.busy_seconds,
            after.cpu_seconds - before.cpu_seconds,
            after.audio_seconds - before.audio_seconds,
        )

    @property
    def cores(self) -> float | None:
        """Effective cores; None without work."""
        return self.cpu_s / self.busy_s if self.busy_s > 0 else None

    @property
    def switches_per_audio_s(self) -> float | None:
        """Voluntary switches per second of audio; None without audio."""
        return self.switches / self.audio_s if self.audio_s > 0 else None


class WorkerVerdict(msgspec.Struct, frozen=True):
    """One worker, first against last."""

    index: int
    outcome: str
    """holds, FAILED, or why it was not compared: restarted, gone, idle."""
    audio_s: float = 0.0
    threads: tuple[int, int] | None = None
    """Live threads after the first and after the last connection."""
    switches: tuple[float, float] | None = None
    """Voluntary switches per second of audio in the first and in the last tenth."""
    cores: tuple[float, float] | None = None
    """Effective cores over the first and over the last ten connections."""
    faults: list[str] = []


def judge(readings: Sequence[Reading], limits: Limits) -> list[WorkerVerdict]:
    """Return a verdict for each worker; `readings` are one before the first connection and one after each."""
    return [_judge_worker(worker.index, readings, limits) for worker in readings[1].workers]


def _judge_worker(index: int, readings: Sequence[Reading], limits: Limits) -> WorkerVerdict:
    found = [reading.worker(index) for reading in readings]
    series = [reading for reading in found if reading is not None]
    if len(series) < len(found):
        return WorkerVerdict(index, "gone")
    if len({reading.pid for reading in series}) > 1:
        return WorkerVerdict(index, "restarted")
    audio_s = Work.between(series[0], series[-1]).audio_s
    if audio_s <= 0:
        return WorkerVerdict(index, "idle")
    n = len(series) - 1
    switches = _ends(series, max(1, n // 10), lambda work: work.switches_per_audio_s)
    cores = _ends(series, min(CORES_WINDOW, max(1, n // 2)), lambda work: work.cores)
    threads = (series[1].live_threads, series[-1].live_threads)
    faults = [*_thread_faults(threads, n), *_switch_faults(switches, limits)]
    faults += _core_faults(cores, limits, switches_grew=len(faults) > 0)
    return WorkerVerdict(index, "FAILED" if faults else "holds", audio_s, threads, switches, cores, faults)


def _ends(
    series: Sequence[WorkerReading], size: int, figure: Callable[[Work], float | None]
) -> tuple[float, float] | None:
    """Return a figure of the first and of the last `size` connections.

    A window without work of this worker is widened until it has some; None where that takes more than half of all.
    """
    first = last = None
    for width in range(size, max(size, (len(series) - 1) // 2) + 1):
        first = figure(Work.between(series[0], series[width])) if first is None else first
        last = figure(Work.between(series[-1 - width], series[-1])) if last is None else last
    return None if first is None or last is None else (first, last)


def _thread_faults(threads: tuple[int, int], n: int) -> list[str]:
    first, last = threads
    return [f"{first} live threads after connection 1, {last} after connection {n}"] if first != last else []


def _switch_faults(switches: tuple[float, float] | None, limits: Limits) -> list[str]:
    if switches is None or switches[1] <= limits.switches_growth * max(switches[0], limits.switches_floor):
        return []
    return [f"voluntary switches per second of audio grew from {switches[0]:.1f} to {switches[1]:.1f}"]


def _core_faults(cores: tuple[float, float] | None, limits: Limits, *, switches_grew: bool) -> list[str]:
    if cores is None or cores[0] <= 0 or cores[1] / cores[0] >= limits.cores_ratio:
        return []
    fault = f"effective cores fell from {cores[0]:.2f} to {cores[1]:.2f}, a ratio of {cores[1] / cores[0]:.2f} where "
    fault += f"{limits.cores_ratio:.2f} is the least"
    return [
        fault
        if switches_grew
        else f"{fault} (threads and switches did not grow: other load on its CPUs looks like this)"
    ]


def rolling_cores(series: Sequence[WorkerReading], width: int = CORES_WINDOW) -> list[float | None]:
    """Return for each connection the effective cores over it and those before it, `width` in all; for the plot."""
    return [Work.between(series[max(0, n - width)], series[n]).cores for n in range(1, len(series))]
