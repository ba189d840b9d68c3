"""The plot of the throughput scenario: audio per second, times, and cores and memory, against concurrency."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from tts_service.bench.throughput_figures import Line, RawRound


def draw(lines: Sequence[Line], raw_rounds: Sequence[RawRound], figure: Any) -> None:
    """Draw panels into an empty matplotlib Figure: a third one where the server's processes could be seen."""
    has_memory = any(line.pss_mib is not None for line in lines)
    panels = list(figure.subplots(3 if has_memory else 2, 1, sharex=True))
    places = range(len(lines))
    _draw_audio(panels[0], places, lines, raw_rounds)
    _draw_times(panels[1], places, lines)
    if has_memory:
        memory = panels[2]
        memory.bar(places, [line.pss_mib or 0.0 for line in lines], width=0.4, color="C4", label="memory (PSS), MiB")
        memory.set_ylabel("MiB")
    panels[-1].set_xlabel("requests in progress")
    panels[-1].set_xticks(places, [str(line.concurrency) for line in lines])
    for panel in panels:
        panel.set_ylim(0, 1.05 * panel.get_ylim()[1])
        panel.grid(alpha=0.3)
        panel.legend(fontsize="small")


def _draw_audio(panel: Any, places: range, lines: Sequence[Line], raw_rounds: Sequence[RawRound]) -> None:
    panel.plot(places, [line.audio_per_wall_s for line in lines], "o-", label="per second")
    if all(line.audio_per_cpu_s is not None for line in lines):
        panel.plot(places, [line.audio_per_cpu_s for line in lines], "s--", label="per CPU-second of the server")
    if raw_rounds:
        limit = median(one.audio_per_wall_s for one in raw_rounds)
        panel.axhline(limit, color="black", linewidth=1, label="per second, raw loop without a server")
    panel.set_ylabel("seconds of audio")


def _draw_times(panel: Any, places: range, lines: Sequence[Line]) -> None:
    curves = [("whole answer", "o", [line.total_s for line in lines])]
    # Of answers in one piece both are the same.
    if any(line.first_audio_s[0] < 0.95 * line.total_s[0] for line in lines):
        curves.append(("first audio", "s", [line.first_audio_s for line in lines]))
    for label, marker, ends in curves:
        (middle,) = panel.plot(places, [1000 * p50 for p50, _ in ends], f"{marker}-", label=f"{label}, median")
        high = [1000 * p95 for _, p95 in ends]
        panel.plot(places, high, f"{marker}:", color=middle.get_color(), label=f"{label}, 95th percentile")
    panel.set_ylabel("milliseconds")
