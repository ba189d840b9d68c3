"""The plot of the throughput scenario: audio per second and times against concurrency."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from tts_service.bench.throughput_figures import Line, RawRound


def draw(lines: Sequence[Line], raw_rounds: Sequence[RawRound], figure: Any) -> None:
    """Draw two panels into an empty matplotlib Figure."""
    audio, times = figure.subplots(2, 1, sharex=True)
    places = range(len(lines))
    audio.plot(places, [line.audio_per_wall_s for line in lines], "o-", label="per second")
    audio.plot(places, [line.audio_per_cpu_s for line in lines], "s--", label="per CPU-second of the server")
    if raw_rounds:
        limit = median(one.audio_per_wall_s for one in raw_rounds)
        audio.axhline(limit, color="black", linewidth=1, label="per second, raw loop without a server")
    audio.set_ylabel("seconds of audio")
    for label, marker, ends in (
        ("whole answer", "o", [line.total_s for line in lines]),
        ("first audio", "s", [line.first_audio_s for line in lines]),
    ):
        (middle,) = times.plot(places, [1000 * p50 for p50, _ in ends], f"{marker}-", label=f"{label}, median")
        high = [1000 * p95 for _, p95 in ends]
        times.plot(places, high, f"{marker}:", color=middle.get_color(), label=f"{label}, 95th percentile")
    times.set_ylabel("milliseconds")
    times.set_xlabel("requests in progress")
    times.set_xticks(places, [str(line.concurrency) for line in lines])
    for panel in (audio, times):
        panel.set_ylim(bottom=0)
        panel.grid(alpha=0.3)
        panel.legend(fontsize="small")
