"""Shows a result: tables on standard output, JSON and PNG into files. matplotlib is imported only for a PNG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table as RichTable

from tts_service.bench.scenario import Result, Table
from tts_service.errors import UsageError

# Of a table that goes into a file or a pipe.
PLAIN_WIDTH = 160
FIGURE_INCHES = (9.0, 7.0)
DOTS_PER_INCH = 120


def check_outputs(json: Path | None, png: Path | None) -> None:
    """Raise UsageError, before anything is measured, where a result could not be written."""
    for path in (json, png):
        if path is not None and not path.absolute().parent.is_dir():
            raise UsageError(f"cannot write {path}: there is no directory {path.absolute().parent}")
    if png is not None:
        _new_figure()


def show(result: Result, console: Console | None = None) -> None:
    """Print the tables and the verdict."""
    console = console or Console()
    if not console.is_terminal:
        console = Console(file=console.file, width=PLAIN_WIDTH)
    for table in result.tables():
        console.print(_rich(table))
    faults = result.faults()
    for fault in faults:
        console.print(f"FAILED: {fault}", style="bold red", markup=False, highlight=False, soft_wrap=True)
    if not faults:
        console.print("holds", style="bold green")


def write_json(result: Result, path: Path) -> None:
    """Write the whole result; `msgspec.json.decode` with its class reads it back."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")


def write_png(result: Result, path: Path) -> None:
    """Draw the result into a file. UsageError where matplotlib is missing."""
    figure = _new_figure()
    result.draw(figure)
    figure.savefig(path, format="png", dpi=DOTS_PER_INCH)


def _new_figure() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError("--png needs matplotlib: pip install 'tts-service[bench]'") from None
    return Figure(figsize=FIGURE_INCHES, layout="constrained")


def _rich(table: Table) -> RichTable:
    shown = RichTable(title=table.title, title_justify="left")
    for name in table.columns:
        shown.add_column(name, justify="right", overflow="fold")
    for row in table.rows:
        shown.add_row(*row)
    return shown
