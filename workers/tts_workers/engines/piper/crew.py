"""The threads of a worker's budget: independent pieces of work run on them side by side, each on one thread.

onnxruntime's own pool divides the operators instead, and its bits then depend on the number of threads: what a thread
gets of a convolution decides in which order it adds (seen with 2 threads on blocks of 97 to 142 frames).
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")

# The supervisor ends a process whose step takes too long; this wait only must not be for ever.
LOOK_S = 60.0


class Crew:
    """The calling thread and `n_threads` - 1 others, which live as long as the crew and sleep between its calls.

    Owned by the compute thread.
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self.width = n_threads
        """Threads that a call is shared among, the calling one included."""
        self._queue: SimpleQueue[_Work | None] = SimpleQueue()

    def start(self) -> None:
        """Start the other threads."""
        for n in range(1, self.n_threads):
            threading.Thread(target=_help, args=(self._queue,), name=f"piper-{n}", daemon=True).start()
        weakref.finalize(self, _dismiss, self._queue, self.n_threads - 1)

    def set_width(self, n_threads: int) -> None:
        """Share the next calls among so many of the threads; the others sleep on."""
        self.width = max(1, min(n_threads, self.n_threads))

    def map(self, function: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Return what `function` makes of each item, in order; raises what one of the calls raised."""
        work = _Work(function, items)
        for _ in range(min(self.width, len(items)) - 1):
            self._queue.put(work)
        work.take_part()
        return work.results()


class _Work:
    """Calls that are waiting, running and done."""

    def __init__(self, function: Callable[[Any], Any], items: Sequence[Any]) -> None:
        self._function = function
        self._waiting = deque(enumerate(items))
        self._results: list[Any] = [None] * len(items)
        self._errors: list[BaseException] = []
        self._done = threading.Semaphore(0)

    def take_part(self) -> None:
        """Make calls until none is waiting."""
        while True:
            try:
                n, item = self._waiting.popleft()
            except IndexError:
                return
            try:
                self._results[n] = self._function(item)
            except BaseException as error:  # noqa: BLE001 - raised again in the calling thread
                self._errors.append(error)
            self._done.release()

    def results(self) -> list[Any]:
        """Wait for the calls of other threads; return all results."""
        for _ in self._results:
            while not self._done.acquire(timeout=LOOK_S):
                pass
        if self._errors:
            raise self._errors[0]
        return self._results


def _help(queue: SimpleQueue[_Work | None]) -> None:
    while (work := queue.get()) is not None:
        work.take_part()
        # Nothing is held while this thread sleeps.
        del work


def _dismiss(queue: SimpleQueue[_Work | None], n_threads: int) -> None:
    for _ in range(n_threads):
        queue.put(None)
