"""A comparison as Markdown. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from bench.aims import Aim, aims
from bench.measurements import (
    Measurements,
    at,
    first_share,
    latency,
    medians,
    n_dry,
    per_cpu,
    per_wall,
    problems,
    pss_mib,
)
from tts_service.bench.throughput_figures import Round, percentile

RAW = "raw loops (the limit)"
_VERDICT = {True: "yes", False: "**no**", None: "not measured"}


def page(measured: Measurements) -> str:
    """Return the whole page."""
    shape = measured.shape
    intro = (
        f"Voice {measured.voice}, {measured.about.n_cpus} CPUs ({measured.about.machine}), Python "
        f"{measured.about.python}. {shape.n_rounds} rounds in turns, each {shape.n_requests} requests at every "
        "concurrency; medians over rounds, ratios of rounds beside each other. Audio in seconds (audio-s); CPU time of "
        "all processes of a server (CPU-s); memory as PSS, right after a round."
    )
    parts = [
        "# Comparison",
        intro,
        "\n".join(f"- {name}: {versions}" for name, versions in measured.versions.items()),
        "## Aims",
        _table(("figure", "measured", "aim", "met"), [_aim_row(one) for one in aims(measured)]),
        "## Buffered WAV",
        _busy(measured),
        "## Streams",
        _streams(measured),
        "## One request at a time",
        _single(measured),
    ]
    if failed := problems(measured):
        parts += ["## Requests that failed", "\n".join(f"- {line}" for line in failed)]
    return "\n\n".join(parts) + "\n"


def _busy(measured: Measurements) -> str:
    columns = ("at once", "server", "audio-s / s", "audio-s / CPU-s", "cores", "p50 ms", "p95 ms", "PSS MiB")
    rows = []
    for concurrency in measured.shape.concurrencies:
        for name, rounds in measured.buffered.items():
            rows.append([str(concurrency), name, *_figures(at(rounds, concurrency))])
    return _table(columns, [*rows, _raw_row(measured)])


def _raw_row(measured: Measurements) -> list[str]:
    wall = median(one.audio_per_wall_s for one in measured.raw)
    cpu = median(one.audio_per_cpu_s for one in measured.raw)
    cores = median(sum(report.cpu_s / report.wall_s for report in one.reports) for one in measured.raw)
    return ["-", RAW, f"{wall:.1f}", f"{cpu:.1f}", f"{cores:.2f}", "-", "-", "-"]


def _streams(measured: Measurements) -> str:
    columns = ("at once", "server", "audio-s / s", "audio-s / CPU-s", "cores", "p50 ms", "p95 ms", "PSS MiB",
               "underruns")  # fmt: skip
    rows = [
        [str(concurrency), name, *_figures(at(rounds, concurrency)), str(n_dry(at(rounds, concurrency)))]
        for name, rounds in measured.streams.items()
        for concurrency in dict.fromkeys(one.concurrency for one in rounds)
    ]
    return _table(columns, rows)


def _single(measured: Measurements) -> str:
    columns = ("server", "sentence p50 ms", "sentence p95 ms", "10 s sentence: first audio ms", "share of the whole",
               "ten sentences, s")  # fmt: skip
    rows = []
    for name, rounds in measured.lone.items():
        long = measured.first_audio[name]
        rows.append(
            [
                name,
                *_ends(rounds),
                f"{1000 * median(t.first_audio_s for one in long for t in one.timings):.0f}",
                f"{medians(long, first_share):.2f}",
                f"{medians(measured.paragraph[name], latency):.3f}",
            ]
        )
    rows.append(["one raw process", "-", "-", "-", "-", f"{median(measured.paragraph_alone_s):.3f}"])
    return _table(columns, rows)


def _figures(rounds: Sequence[Round]) -> list[str]:
    cores = medians(rounds, lambda one: (one.server_cpu_s or 0.0) / one.wall_s)
    pss = pss_mib(rounds, rounds[0].concurrency)
    return [
        f"{medians(rounds, per_wall):.1f}",
        f"{medians(rounds, per_cpu):.1f}",
        f"{cores:.2f}",
        *_ends(rounds),
        "-" if not pss else f"{pss:.0f}",
    ]


def _ends(rounds: Sequence[Round]) -> list[str]:
    times_s = [timing.total_s for one in rounds for timing in one.timings if not timing.problem]
    return [f"{1000 * percentile(times_s, percent):.0f}" for percent in (50, 95)]


def _aim_row(aim: Aim) -> list[str]:
    value = "-" if aim.value is None else f"{aim.value:.3g}"
    return [aim.what, value, f"{'>=' if aim.at_least else '<='} {aim.limit:g}", _VERDICT[aim.is_met]]


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
