"""What the load's clients make of answers, and how they use connections."""

from __future__ import annotations

import pytest

from support.json_server import serving
from support.raw_server import answering, refusing_port
from tts_service.bench.client_process import Load, LoadReport, make
from tts_service.bench.line_process import LineProcess, Ready
from tts_service.bench.speaker import Wanted
from tts_service.bench.texts import sentences
from tts_service.errors import CannotStart, Unavailable


def load(url: str, *, n: int = 6, concurrency: int = 2, kept: bool = True) -> Load:
    return Load(url, sentences(n), Wanted(), concurrency, kept)


def test_every_request_of_a_round_is_made_and_timed() -> None:
    with serving([(200, b"audio")]) as server:
        report = make(load(server.url, n=10))
        assert server.n_requests == 10
    assert [timing.problem for timing in report.timings] == [""] * 10
    assert all(0 < timing.first_audio_s <= timing.total_s for timing in report.timings)
    assert report.ended_s > report.started_s


@pytest.mark.parametrize(("kept", "n_connections"), [(True, 1), (False, 6)])
def test_a_connection_is_kept_or_fresh_for_each_request(kept: bool, n_connections: int) -> None:
    with serving([(200, b"audio")]) as server:
        make(load(server.url, concurrency=1, kept=kept))
        assert server.n_connections == n_connections


def test_a_failed_request_is_told_and_the_others_go_on() -> None:
    with serving([(200, b"audio"), (503, b"full"), (200, b""), (200, b"audio")]) as server:
        problems = [timing.problem for timing in make(load(server.url, n=5, concurrency=1)).timings]
    assert problems == ["", "status 503: full", "an empty body", "", ""]


def test_a_body_that_breaks_off_is_a_failed_request() -> None:
    with answering(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc") as server:
        (timing,) = make(load(server.url, n=1, concurrency=1)).timings
    assert timing.problem.startswith("IncompleteRead")


def test_a_server_that_is_not_there_fails_every_request() -> None:
    report = make(load(f"http://127.0.0.1:{refusing_port()}", n=3))
    assert len([timing for timing in report.timings if "no server answers" in timing.problem]) == 3


@pytest.mark.system
def test_the_process_answers_a_line_with_a_line() -> None:
    with serving([(200, b"audio")]) as server, LineProcess("tts_service.bench.client_process", []) as process:
        process.receive(Ready, 60.0)
        for _ in range(2):
            process.send(load(server.url))
            assert len(process.receive(LoadReport, 60.0).timings) == 6


@pytest.mark.system
def test_a_measuring_process_that_says_nothing_is_unavailable() -> None:
    with LineProcess("tts_service.bench.client_process", []) as process:
        process.receive(Ready, 60.0)
        with pytest.raises(Unavailable, match="said nothing"):
            process.receive(LoadReport, 0.01)


@pytest.mark.system
def test_a_measuring_process_that_ends_is_named_with_its_status(capfd: pytest.CaptureFixture[str]) -> None:
    module = "tts_service.bench.no_such_module"
    with LineProcess(module, []) as process, pytest.raises(CannotStart, match="ended with status 1"):
        process.receive(Ready, 60.0)
    assert "no_such_module" in capfd.readouterr().err
