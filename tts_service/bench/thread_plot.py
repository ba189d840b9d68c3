"""The plot of the threads drill: live threads and effective cores against the number of the connection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tts_service.bench.readings import WorkerReading
from tts_service.bench.thread_verdict import rolling_cores

if TYPE_CHECKING:
    from tts_service.bench.threads import ThreadsRun

_DASHES = ("-", "--", ":", "-.")


def draw(runs: Sequence[ThreadsRun], figure: Any) -> None:
    """Draw two panels, one line a worker in each, into an empty matplotlib Figure."""
    threads, cores = figure.subplots(2, 1, sharex=True)
    for n, (label, series) in enumerate(_lines(runs)):
        numbers = range(1, len(series))
        style = {"label": label, "linestyle": _DASHES[n % len(_DASHES)], "color": f"C{n % 10}", "linewidth": 1.8}
        threads.plot(numbers, [reading.live_threads for reading in series[1:]], **style)
        cores.plot(numbers, _plottable(rolling_cores(series)), **style)
        cores.plot(numbers, _plottable(rolling_cores(series, width=1)), ".", color=style["color"], alpha=0.35)
    threads.set_ylabel("live threads")
    threads.yaxis.get_major_locator().set_params(integer=True)
    cores.set_ylabel("effective cores (line: mean of ten)")
    cores.set_xlabel("fresh connection")
    for panel in (threads, cores):
        panel.set_ylim(bottom=0, top=1.25 * max(1.0, panel.get_ylim()[1]))
        panel.grid(alpha=0.3)
    # One legend above both panels, where it hides no line.
    handles, labels = threads.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)


def _plottable(values: Sequence[float | None]) -> list[float]:
    return [float("nan") if value is None else value for value in values]


def _lines(runs: Sequence[ThreadsRun]) -> Iterator[tuple[str, list[WorkerReading]]]:
    """Yield label and readings of every worker that lived through a whole drill."""
    for run in runs:
        for verdict in run.verdicts:
            series = [found for reading in run.readings if (found := reading.worker(verdict.index)) is not None]
            if verdict.outcome not in ("gone", "restarted"):
                yield f"{run.label} worker {verdict.index}", series
