"""How a server's capacity is measured: by how many callers, and what counts."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest

from support.readings import reading, together
from tts_service.bench import capacity
from tts_service.bench.callers import Calls, Heard
from tts_service.bench.capacity import CALLERS_PER_WORKER, measure_capacity
from tts_service.bench.line_process import LineProcess
from tts_service.bench.one_liners import chars_of
from tts_service.bench.readings import Reading
from tts_service.errors import Unavailable

CLIENT = cast(LineProcess, None)


class Server:
    """Answers each request in a second, or refuses every `refuses`th one."""

    def __init__(self, refuses: int = 0, status: int = 503) -> None:
        self.refuses = refuses
        self.status = status
        self.rounds: list[Calls] = []

    def call(self, _: Any, calls: Calls) -> list[Heard]:
        self.rounds.append(calls)
        found = []
        for index, caller in enumerate(calls.callers):
            for n, request in enumerate(caller.requests):
                if len(self.rounds) > 1 and self.refuses and n % self.refuses == 1:
                    found.append(Heard(index, request, float(n), 0.01, self.status, problem="status 503"))
                else:
                    found.append(Heard(index, request, float(n), 1.0, 200))
        return found


def measure(monkeypatch: pytest.MonkeyPatch, server: Server, workers: Reading) -> float:
    monkeypatch.setattr(capacity, "call", server.call)
    return measure_capacity(CLIENT, "http://server", workers)


def test_a_wide_worker_brings_no_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = together(reading(0), reading(0, index=1), reading(0, index=2))
    workers.workers[2] = msgspec.structs.replace(workers.workers[2], wide=True)
    server = Server()
    assert measure(monkeypatch, server, workers) > 0
    assert len(server.rounds[-1].callers) == 2 * CALLERS_PER_WORKER


def test_a_server_that_refuses_still_is_measured_by_what_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(refuses=4)
    found = measure(monkeypatch, server, reading(0))
    warm_up, *measured = [len(calls.callers) for calls in server.rounds]
    assert measured == [CALLERS_PER_WORKER, 1], f"after a warm-up of {warm_up}"
    (caller,) = server.rounds[-1].callers
    done = [request for n, request in enumerate(caller.requests) if n % 4 != 1]
    assert found == pytest.approx(chars_of(done[1:]) / (len(caller.requests) - 1))


def test_a_server_that_fails_or_refuses_everything_has_no_capacity(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unavailable, match="a request failed"):
        measure(monkeypatch, Server(refuses=2, status=500), reading(0))
    with pytest.raises(Unavailable, match="every request was refused"):
        capacity.chars_per_s([])
