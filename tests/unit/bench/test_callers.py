"""Many clients at once: what they ask for, when, and what they hear."""

from __future__ import annotations

import hashlib
import socket
import threading
import time

import pytest

from support.json_server import serving
from support.raw_server import answering, refusing_port
from tts_service.bench.callers import Caller, Calls, Heard, call, callers, make

BODIES = [{"input": "One.", "response_format": "pcm"}, {"input": "Two.", "response_format": "wav"}]


def listen(url: str, *clients: Caller, give_up_s: float = 30.0) -> list[Heard]:
    return make(Calls(url, BODIES, list(clients), give_up_s)).heard


def test_every_client_asks_for_its_requests_in_their_order() -> None:
    with serving([(200, b"audio")]) as server:
        heard = listen(server.url, Caller([0, 1, 1]), Caller([1]))
    assert [one.request for one in heard if one.caller == 0] == [0, 1, 1]
    assert [one.request for one in heard if one.caller == 1] == [1]
    for one in heard:
        assert (one.status, one.n_bytes, one.problem) == (200, 5, "")
        assert one.digest == hashlib.sha256(b"audio").hexdigest()
        assert one.first_audio_s is not None
        assert 0 < one.first_audio_s <= one.total_s


def test_a_client_comes_at_its_time_and_goes_round_until_its_end() -> None:
    with serving([(200, b"audio")]) as server:
        heard = listen(server.url, Caller([0], at_s=0.2), Caller([0, 1], until_s=0.2))
    (late,) = [one for one in heard if one.caller == 0]
    assert late.at_s >= 0.2
    rounds = [one for one in heard if one.caller == 1]
    assert [one.request for one in rounds[:4]] == [0, 1, 0, 1]
    assert all(one.at_s < 0.2 for one in rounds)


def test_a_refusal_is_told_with_what_it_says_about_trying_again() -> None:
    raw = b"HTTP/1.1 503 Full\r\nRetry-After: 7\r\nx-should-retry: true\r\nContent-Length: 4\r\n\r\nfull"
    with answering(raw) as server:
        (one,) = listen(server.url, Caller([0]))
    assert (one.refused, one.retry_after, one.should_retry) == (True, "7", "true")
    assert one.first_audio_s is None
    assert one.problem == "status 503: full"


@pytest.mark.parametrize(
    ("raw", "problem", "n_bytes"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "broke off after 3 bytes", 3),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "an empty body", 0),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", "broke off after 2 bytes", 2),
    ],
)
def test_an_answer_that_is_not_whole_is_a_problem(raw: bytes, problem: str, n_bytes: int) -> None:
    with answering(raw) as server:
        (one,) = listen(server.url, Caller([0]))
    assert (one.status, one.n_bytes, one.hung_up) == (200, n_bytes, False)
    assert problem in one.problem


def test_a_server_that_is_not_there_is_a_problem_of_every_request() -> None:
    heard = listen(f"http://127.0.0.1:{refusing_port()}", Caller([0, 1]))
    assert [(one.status, "no server answers" in one.problem) for one in heard] == [(0, True)] * 2


def test_who_still_waits_when_the_time_is_over_hangs_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        started_s = time.monotonic()
        heard = listen(url, Caller([0, 1]), Caller([0]), give_up_s=0.3)
    assert [(one.request, one.status, one.hung_up) for one in heard] == [(0, 0, True)] * 2
    assert all(one.total_s >= 0.2 for one in heard)
    assert time.monotonic() - started_s < 20


def test_a_client_that_has_its_whole_answer_has_not_hung_up() -> None:
    with serving([(200, b"audio")]) as server:
        (one,) = listen(server.url, Caller([0]), give_up_s=0.0)
    assert one.hung_up is (one.problem != "")


def test_a_stream_of_pcm_is_held_against_a_player() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_dribble, args=(listener,))
        thread.start()
        (one,) = listen(f"http://127.0.0.1:{listener.getsockname()[1]}", Caller([0]))
        thread.join()
    # A tenth of a second of audio, then half a second without.
    assert one.n_dry == 1
    assert 0.2 < one.dry_s < 5


def _dribble(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nX-Sample-Rate: 8000\r\nContent-Length: 3200\r\n\r\n" + bytes(1600))
        threading.Event().wait(0.5)
        connection.sendall(bytes(1600))


def test_a_client_may_come_from_an_address_of_its_own() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        found: list[str] = []
        thread = threading.Thread(target=lambda: found.append(_peer(listener)))
        thread.start()
        listen(f"http://127.0.0.1:{listener.getsockname()[1]}", Caller([0], source="127.0.0.2"))
        thread.join()
    assert found == ["127.0.0.2"]


def _peer(listener: socket.socket) -> str:
    connection, (address, _) = listener.accept()
    connection.close()
    return str(address)


@pytest.mark.system
def test_the_process_carries_out_one_round_after_the_other() -> None:
    with serving([(200, b"audio")]) as server, callers() as process:
        for _ in range(2):
            assert len(call(process, Calls(server.url, BODIES, [Caller([0]), Caller([1])]))) == 2
