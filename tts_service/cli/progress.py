"""The progress bar of `say`: on a terminal, for texts long enough to wait for. Used by the main thread."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

# Shorter texts are spoken before a bar could be read.
LONG_TEXT_CHARS = 1000


class SpeakingBar:
    """A context manager. Without a known number of segments (a server does not tell) the bar only pulses."""

    def __init__(self, text: str, console: Console | None = None) -> None:
        console = console or Console(stderr=True)
        columns = (
            TextColumn("speaking"),
            BarColumn(),
            TextColumn("{task.fields[segments]}"),
            TextColumn("{task.fields[audio]}"),
            TimeRemainingColumn(),
        )
        visible = console.is_terminal and len(text) >= LONG_TEXT_CHARS
        self._bar = Progress(*columns, console=console, transient=True, disable=not visible)
        self._task = self._bar.add_task("speaking", total=None, segments="", audio="")

    def segments(self, done: int, total: int) -> None:
        """Show how many segments have been taken on."""
        self._bar.update(self._task, completed=done, total=total, segments=f"{done} of {total} segments")

    def audio(self, seconds: float) -> None:
        """Show how much audio has been written."""
        self._bar.update(self._task, audio=f"{seconds:.0f} s of audio")

    def __enter__(self) -> SpeakingBar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._bar.stop()
