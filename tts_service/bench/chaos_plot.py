"""The plot of the chaos scenario: how long each answer took, and when somebody was killed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tts_service.bench.chaos_figures import Stage
from tts_service.bench.havoc import DISPATCHER


def draw(stages: Sequence[Stage], figure: Any) -> None:
    """Draw all stages, one after the other, into an empty matplotlib Figure."""
    panel = figure.subplots()
    begun_s = stages[0].started_s
    for n, stage in enumerate(stages):
        times_s = [stage.started_s - begun_s + one.at_s for one in stage.heard]
        panel.plot(times_s, [one.total_s for one in stage.heard], ".", color=f"C{n % 10}", label=stage.name)
        for blow in stage.blows:
            style = {"SIGSTOP": "--"}.get(blow.signal, "-")
            color = "black" if blow.target == DISPATCHER else "grey"
            panel.axvline(blow.at_s - begun_s, color=color, linestyle=style, linewidth=0.7, alpha=0.6)
    panel.set_xlabel("seconds; lines: killed (dashed: stopped; black: the dispatcher)")
    panel.set_ylabel("seconds to the end of the answer")
    panel.set_ylim(bottom=0)
    panel.grid(alpha=0.3)
    panel.legend(title="killed", fontsize="small")
