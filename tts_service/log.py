"""Logging of every process: one line a message on stderr, readable in the journal."""

from __future__ import annotations

import logging
import sys


def set_up(level: str, process: str) -> None:
    """Send this process's messages of `level` and above to stderr, marked with the name of the process."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(f"%(asctime)s %(levelname)s {process}: %(message)s"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
