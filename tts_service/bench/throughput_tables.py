"""The tables of the throughput scenario. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from tts_service.bench.scenario import Table
from tts_service.bench.throughput_figures import Line, RawRound

_COLUMNS = (
    "requests at once",
    "ok",
    "failed",
    "audio-s per s",
    "audio-s per CPU-s",
    "server cores",
    "latency ms p50/p95",
    "first audio ms p50/p95",
)


def tables(load: str, lines: Sequence[Line], raw_rounds: Sequence[RawRound]) -> list[Table]:
    """Return all tables of the figures."""
    parts = list(lines[0].cpu_ms)
    costs = [[str(line.concurrency), *(f"{line.cpu_ms.get(part, 0.0):.3f}" for part in parts)] for line in lines]
    whole = [
        [str(line.concurrency), number(line.engine_cores, 2), number(line.pss_mib, 0), number(line.n_threads, 0)]
        for line in lines
    ]
    found = [
        Table(load, _COLUMNS, list(map(_row, lines))),
        Table("CPU milliseconds for a second of audio", ["requests at once", *parts], costs),
    ]
    if any(line.pss_mib is not None or line.engine_cores is not None for line in lines):
        columns = ("requests at once", "engine cores", "memory MiB (PSS)", "threads")
        found.append(Table("The server as a whole, at the end of a round", columns, whole))
    return found + ([_raw_table(lines, raw_rounds)] if raw_rounds else [])


def _row(line: Line) -> list[str]:
    return [
        str(line.concurrency),
        str(line.n_ok),
        str(line.n_failed),
        f"{line.audio_per_wall_s:.1f}",
        number(line.audio_per_cpu_s, 1),
        number(line.cores, 2),
        milliseconds(line.total_s),
        milliseconds(line.first_audio_s),
    ]


def _raw_table(lines: Sequence[Line], raw_rounds: Sequence[RawRound]) -> Table:
    per_wall = median(one.audio_per_wall_s for one in raw_rounds)
    per_cpu = median(one.audio_per_cpu_s for one in raw_rounds)
    n = len(raw_rounds[0].reports)
    title = f"Against the engine alone in {n} process{'es' * (n > 1)}: {per_wall:.1f} audio-s per s, "
    title += f"{per_cpu:.1f} per CPU-s"
    rows = [[str(line.concurrency), number(line.raw_ratio, 3), number(line.raw_cpu_ratio, 3)] for line in lines]
    return Table(title, ("requests at once", "server / engine, per s", "server / engine, per CPU-s"), rows)


def number(value: float | None, n_digits: int) -> str:
    """Return a figure, "-" where there is none."""
    return "-" if value is None else f"{value:.{n_digits}f}"


def milliseconds(ends: tuple[float, float]) -> str:
    """Return median and 95th percentile of seconds."""
    return "/".join(f"{1000 * value:.0f}" for value in ends)
