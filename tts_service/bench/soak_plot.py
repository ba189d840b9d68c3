"""The plot of the soak: memory, threads and descriptors of each process over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tts_service.bench.soak_figures import Sample

_MIB = 1 << 20


def draw(samples: Sequence[Sample], n_warm_up: int, figure: Any) -> None:
    """Draw three panels, one line a process in each, into an empty matplotlib Figure."""
    memory, threads, descriptors = figure.subplots(3, 1, sharex=True)
    pids = {process.pid: process.name for sample in samples for process in sample.processes}
    for n, (pid, name) in enumerate(pids.items()):
        series = [(s.at_s / 60, process) for s in samples for process in s.processes if process.pid == pid]
        minutes = [at for at, _ in series]
        style = {"label": f"{name} ({pid})", "color": f"C{n % 10}", "linestyle": "-" if n < 10 else "--"}
        memory.plot(minutes, [process.own_bytes / _MIB for _, process in series], **style)
        threads.plot(minutes, [process.threads for _, process in series], **style)
        descriptors.plot(minutes, [process.descriptors for _, process in series], **style)
    for panel, label in ((memory, "own memory, MiB"), (threads, "threads"), (descriptors, "descriptors")):
        panel.set_ylabel(label)
        panel.set_ylim(bottom=0)
        panel.grid(alpha=0.3)
        if 0 < n_warm_up < len(samples):
            panel.axvspan(0, samples[n_warm_up].at_s / 60, color="0.9")
    descriptors.set_xlabel("minutes (grey: warm-up)")
    handles, labels = memory.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
