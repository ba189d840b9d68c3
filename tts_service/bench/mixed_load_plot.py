"""The plot of the mix scenario: how many one-liners had their first audio within a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tts_service.bench.mixed_load_figures import Line


def draw(lines: Sequence[Line], figure: Any) -> None:
    """Draw a panel without and one with the book, a curve for each order, into an empty matplotlib Figure."""
    panels = figure.subplots(2, 1, sharex=True)
    orders = list(dict.fromkeys(line.order for line in lines))
    for panel, with_book, title in zip(panels, (False, True), ("one-liners alone", "beside the book"), strict=True):
        for line in lines:
            if line.with_book is with_book and line.first_audio_s:
                times_s = sorted(line.first_audio_s)
                shares = [(n + 1) / len(times_s) for n in range(len(times_s))]
                panel.step(times_s, shares, where="post", label=line.order, color=f"C{orders.index(line.order)}")
        panel.set_title(title, fontsize="medium")
        panel.set_ylabel("share of one-liners")
        panel.set_ylim(0, 1.02)
        panel.axhline(0.95, color="black", linewidth=0.7, linestyle=":")
        panel.grid(alpha=0.3)
        panel.legend(title="order of the queue", fontsize="small", loc="lower right")
    panels[1].set_xscale("log")
    panels[1].set_xlabel("seconds to first audio")
