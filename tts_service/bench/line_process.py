"""A child process that answers each line of JSON on its standard input with a line on its standard output."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TypeVar

import msgspec

from tts_service.errors import CannotStart, Unavailable
from tts_service.orphans import die_with_parent

Ask = TypeVar("Ask", bound=msgspec.Struct)
Reply = TypeVar("Reply", bound=msgspec.Struct)

STOP_TIMEOUT_S = 5.0
READ_BYTES = 1 << 20


class LineProcess:
    """The parent's end; a context manager. Owned by the main thread, with which the child ends."""

    def __init__(self, module: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self._command = [sys.executable, "-m", module, str(os.getpid()), *arguments]
        self._environment = environment
        self._buffer = b""

    def __enter__(self) -> LineProcess:
        pipe = subprocess.PIPE
        # Unbuffered, so that select sees all there is.
        self._process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, env=self._environment, bufsize=0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(STOP_TIMEOUT_S if kind is None else 0.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def send(self, value: msgspec.Struct) -> None:
        """Send a line; CannotStart where the process has ended."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(msgspec.json.encode(value) + b"\n")
        except BrokenPipeError:
            raise self._ended() from None

    def receive(self, kind: type[Reply], timeout_s: float) -> Reply:
        """Return the next line. Unavailable where none comes in time, CannotStart where the process has ended."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._buffer:
            if not select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise Unavailable(f"a measuring process (pid {self._process.pid}) said nothing for {timeout_s:.0f} s")
            data = os.read(self._process.stdout.fileno(), READ_BYTES)
            if not data:
                raise self._ended()
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return msgspec.json.decode(line, type=kind)

    def _ended(self) -> CannotStart:
        status = self._process.wait()
        return CannotStart(f"a measuring process (pid {self._process.pid}) ended with status {status}; see above")


class Ready(msgspec.Struct, frozen=True):
    """First line of a child: it can be asked."""


def serve_lines(kind: type[Ask], prepare: Callable[[], Callable[[Ask], msgspec.Struct]]) -> None:
    """Answer lines with what `prepare` returns, until there are no more; say Ready before the first.

    In the child, whose first argument is its parent's pid.
    """
    die_with_parent(int(sys.argv[1]), signal.SIGKILL)
    answer = prepare()
    _say(Ready())
    for line in sys.stdin.buffer:
        _say(answer(msgspec.json.decode(line, type=kind)))


def _say(value: msgspec.Struct) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()
