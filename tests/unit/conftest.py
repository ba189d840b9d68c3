"""What every unit test leaves as it found it."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """Commands that run within a test set up the process's logging, on a stream that is closed after it."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    yield
    root.setLevel(level)
    for handler in [handler for handler in root.handlers if handler not in handlers]:
        # pytest's own go by themselves.
        if not type(handler).__module__.startswith("_pytest"):
            root.removeHandler(handler)
