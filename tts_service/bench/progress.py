"""The progress bar of `bench`: on standard error, and only where that is a terminal. Used by the main thread."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tts_service.bench.scenario import Step


class ProgressBars:
    """A context manager; one line for each part of the measurement."""

    def __init__(self, console: Console | None = None) -> None:
        console = console or Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        # Refreshed seldom: it runs on the machine that is measured.
        self._bars = Progress(
            *columns, console=console, transient=True, refresh_per_second=2, disable=not console.is_terminal
        )

    def begin(self, text: str, n_steps: int) -> Step:
        """See Progress."""
        task = self._bars.add_task(text, total=n_steps)
        return lambda: self._bars.advance(task)

    def __enter__(self) -> ProgressBars:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._bars.stop()
