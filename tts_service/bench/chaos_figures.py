"""From what the clients of the chaos scenario heard to its figures. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tts_service.bench.callers import Heard
from tts_service.bench.havoc import Blow
from tts_service.bench.throughput_figures import percentile


class Stage(msgspec.Struct, frozen=True):
    """One round of requests, undisturbed or not."""

    name: str
    started_s: float
    """Monotonic time from which the requests' times count."""
    heard: list[Heard]
    blows: list[Blow] = []
    retries: float = 0.0
    """Segments that were submitted again, as far as the server's counters outlived the stage."""
    continuations: float = 0.0
    """Of those, the ones that went on in the middle."""

    def in_flight(self, blow: Blow) -> int:
        """Return how many requests were in progress at a blow."""
        at_s = blow.at_s - self.started_s
        return sum(one.at_s < at_s < one.at_s + one.total_s for one in self.heard)

    def count(self, signal: str) -> int:
        """Return how many blows were this signal."""
        return sum(blow.signal == signal for blow in self.blows)

    def total_s(self, percent: float) -> float:
        """Return a percentile of the time to the end of an answer."""
        return percentile([one.total_s for one in self.heard], percent)


def wrong_answers(stages: Sequence[Stage]) -> list[str]:
    """Return a line for every answer that failed, or whose bytes differ from those of the first, undisturbed stage."""
    expected = {one.request: one for one in stages[0].heard}
    found = []
    for stage in stages:
        for one in stage.heard:
            where = f"{stage.name}, request {one.request} at {one.at_s:.1f} s"
            if one.problem:
                found.append(f"{where}: {one.problem}")
            elif one.digest != expected[one.request].digest:
                length = f"{one.n_bytes} bytes, undisturbed {expected[one.request].n_bytes}"
                found.append(f"{where}: other bytes than undisturbed ({length})")
    return found
