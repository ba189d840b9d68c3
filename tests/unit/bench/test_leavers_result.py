"""Who leaves when, what becomes of it, and what the leavers scenario holds against a server."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from typing import Any

import msgspec
import pytest

from support.json_server import serving
from support.raw_server import refusing_port
from tts_service.bench.family import Member
from tts_service.bench.leaver_plan import KINDS, kind_of, plan_leavers
from tts_service.bench.leaver_process import Leaver, Leavers, Left, make
from tts_service.bench.leavers import LeaversResult
from tts_service.bench.scenario import About

BODY = {"input": "Hello.", "stream": True}
GATEWAY = Member("tts-gateway #2", 7, 50 << 20, 30, 20)
WORKER = Member("tts-worker-0", 8, 40 << 20, 3, 12)


def result(**changes: Any) -> LeaversResult:
    plan = plan_leavers(6, 1.0, seed=1)
    fields: dict[str, Any] = {
        "about": About.here(None),
        "load": "some load",
        "max_empty_s": 1.0,
        "n_request_threads": 64,
        "leavers": plan,
        "left": [Left(0), Left(200, 500)] * 3,
        "empty_s": 0.2,
        "before": [GATEWAY, WORKER],
        "after": [GATEWAY, WORKER],
    }
    return LeaversResult(**fields | changes)


def test_a_third_leaves_in_each_way_half_of_them_with_a_reset() -> None:
    plan = plan_leavers(24, 10.0, seed=1)
    assert plan == plan_leavers(24, 10.0, seed=1)
    assert plan != plan_leavers(24, 10.0, seed=2)
    assert Counter((kind_of(leaver), leaver.resets) for leaver in plan) == {
        (kind, resets): 4 for kind in KINDS for resets in (True, False)
    }
    assert all(0 <= leaver.at_s <= 10 for leaver in plan)


def test_a_round_that_leaves_nothing_behind_holds() -> None:
    assert result().faults() == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"empty_s": 1.5}, "empty after 1.50 s"),
        ({"left": [Left(0), Left(200, 500), Left(problem="refused")] * 2}, "2 clients could not ask: refused"),
        ({"left": [Left(200, 500)] * 6}, "nobody left while waiting"),
        ({"left": [Left(0)] * 6}, "nobody left in the middle of a stream"),
        ({"after": [GATEWAY]}, "2 processes before, 1 after"),
        ({"after": [GATEWAY, msgspec.structs.replace(WORKER, n_threads=4)]}, "3 threads before, 4 after"),
        ({"after": [GATEWAY, msgspec.structs.replace(WORKER, n_descriptors=13)]}, "12 descriptors before, 13 after"),
        ({"after": [GATEWAY, msgspec.structs.replace(WORKER, rss_bytes=60 << 20)]}, "40.0 MiB before, 60.0 after"),
        ({"after": [msgspec.structs.replace(GATEWAY, n_threads=80), WORKER]}, "30 threads before, 80 after"),
    ],
)
def test_what_stays_behind_is_named(changes: dict[str, Any], words: str) -> None:
    (fault,) = result(**changes).faults()
    assert words in fault


def test_request_threads_of_a_gateway_may_come_up_to_their_number() -> None:
    assert result(after=[msgspec.structs.replace(GATEWAY, n_threads=70), WORKER]).faults() == []


def test_a_client_leaves_when_its_time_is_over_or_when_it_has_what_it_takes() -> None:
    with serving([(200, b"a" * 1000)]) as server:
        patient = Leaver(BODY, 0.0, 0.3, 0, resets=False)
        hasty = Leaver(BODY, 0.0, 30.0, 12, resets=True)
        report = make(Leavers(server.url, [patient, hasty]))
    assert [left.status for left in report.left] == [200, 200]
    assert report.left[0].n_bytes > 1000
    assert report.left[1].n_bytes == 12


def test_a_client_leaves_a_server_that_says_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        report = make(Leavers(url, [Leaver(BODY, 0.0, 0.05, 500, resets=False)]))
    assert report.left == [Left(0, 0)]


def test_a_client_that_resets_is_seen_to() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ends: list[str] = []
        thread = threading.Thread(target=lambda: ends.extend(_end(listener) for _ in range(2)))
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        for resets in (True, False):
            make(Leavers(url, [Leaver(BODY, 0.0, 0.05, 0, resets=resets)]))
        thread.join()
    assert ends == ["ConnectionResetError", ""]


def _end(listener: socket.socket) -> str:
    connection, _ = listener.accept()
    with connection:
        connection.settimeout(10.0)
        try:
            while connection.recv(65536):
                pass
        except OSError as error:
            return type(error).__name__
    return ""


def test_a_client_that_cannot_connect_is_a_problem() -> None:
    report = make(Leavers(f"http://127.0.0.1:{refusing_port()}", [Leaver(BODY, 0.0, 0.05, 0, resets=True)]))
    assert "ConnectionRefused" in report.left[0].problem
