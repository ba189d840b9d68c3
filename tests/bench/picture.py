"""A comparison as a picture: throughput, CPU, latency and memory of all servers against concurrency."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.measurements import Measurements, at, latency, medians, per_cpu, per_wall, pss_mib
from tts_service.bench.throughput_figures import Round

FIGURE_INCHES = (11.0, 8.0)
DOTS_PER_INCH = 120


def draw(measured: Measurements, path: Path) -> None:
    """Write a PNG."""
    figure = Figure(figsize=FIGURE_INCHES, layout="constrained")
    wall, cpu, times, memory = figure.subplots(2, 2).flat
    figure.suptitle(f"buffered WAV, voice {measured.voice}, {measured.about.n_cpus} CPUs")
    _lines(wall, measured, per_wall, "audio-s per s")
    wall.axhline(median(one.audio_per_wall_s for one in measured.raw), color="black", label="raw loops (the limit)")
    _lines(cpu, measured, per_cpu, "audio-s per CPU-s")
    cpu.axhline(median(one.audio_per_cpu_s for one in measured.raw), color="black", label="raw loops (the limit)")
    _lines(times, measured, lambda one: 1000 * latency(one), "latency p50, ms")
    _lines(memory, measured, _pss, "memory (PSS), MiB")
    for panel in (wall, cpu, times, memory):
        panel.set_xticks(range(len(measured.shape.concurrencies)), map(str, measured.shape.concurrencies))
        panel.set_xlabel("requests at once")
        panel.set_ylim(0, 1.1 * panel.get_ylim()[1])
        panel.grid(alpha=0.3)
        panel.legend(fontsize="small")
    figure.savefig(path, format="png", dpi=DOTS_PER_INCH)


def _lines(panel: Axes, measured: Measurements, figure: Callable[[Round], float], label: str) -> None:
    for name, rounds in measured.buffered.items():
        values = [_of(at(rounds, concurrency), figure) for concurrency in measured.shape.concurrencies]
        panel.plot(range(len(values)), values, "o-", label=name)
    panel.set_ylabel(label)


def _of(rounds: Sequence[Round], figure: Callable[[Round], float]) -> float:
    return medians(rounds, figure)


def _pss(one: Round) -> float:
    return pss_mib([one], one.concurrency) or 0.0
