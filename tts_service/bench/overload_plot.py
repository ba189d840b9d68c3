"""The plot of the overload scenario: when admitted requests had their first audio, and refused ones their answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tts_service.bench.overload import Stretch


def draw(stretches: Sequence[Stretch], figure: Any) -> None:
    """Draw a panel for each stretch into an empty matplotlib Figure."""
    panels = figure.subplots(len(stretches), 1, sharex=True, sharey=True, squeeze=False)
    for (panel,), stretch in zip(panels, stretches, strict=True):
        audio = [(one.at_s, one.first_audio_s) for one in stretch.admitted if one.first_audio_s is not None]
        refused = [(one.at_s, one.total_s) for one in stretch.refused]
        for label, marker, points in (("first audio", "o", audio), ("refused", "x", refused)):
            panel.plot(*zip(*points, strict=True) if points else ([], []), marker, markersize=4, label=label)
        panel.set_title(f"{stretch.load:g} x capacity", fontsize="medium")
        panel.set_yscale("log")
        panel.set_ylabel("seconds")
        panel.grid(alpha=0.3)
        panel.legend(fontsize="small", loc="upper left")
    panels[-1][0].set_xlabel("arrival, seconds")
