"""The connections of the threads drill."""

from __future__ import annotations

from collections import Counter

import pytest

from support.raw_server import answering
from tts_service.bench.mix import Exchange, Kind, carry_out, plan_mix

PCM = Exchange(Kind.PCM, {"input": "Hello.", "response_format": "pcm", "stream": True})
INVALID = Exchange(Kind.INVALID, {})
ABORTED = Exchange(Kind.ABORTED, PCM.body)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
REFUSED = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\n{}"


def test_the_same_seed_gives_the_same_mix_and_another_seed_another() -> None:
    assert plan_mix(100, 1) == plan_mix(100, 1)
    assert plan_mix(100, 1) != plan_mix(100, 2)


@pytest.mark.parametrize("seed", range(20))
def test_the_first_connection_asks_for_speech_whatever_the_seed(seed: int) -> None:
    assert plan_mix(15, seed)[0].kind is Kind.WAV


def test_every_ten_connections_do_the_same_work() -> None:
    kinds = [exchange.kind for exchange in plan_mix(40, 3)]
    tens = [Counter(kinds[start : start + 10]) for start in range(0, 40, 10)]
    assert tens == [Counter({Kind.WAV: 4, Kind.PCM: 3, Kind.ABORTED: 2, Kind.INVALID: 1})] * 4


@pytest.mark.parametrize(
    ("exchange", "raw", "problem"),
    [
        (PCM, OK + b"abcd", ""),
        (PCM, OK + b"ab", "broke off"),
        (PCM, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "an empty body"),
        (PCM, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", "broke off"),
        (PCM, REFUSED, "status 400: {}"),
        (ABORTED, OK + b"ab", ""),
        (ABORTED, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "an empty body"),
        (INVALID, REFUSED, ""),
        (INVALID, OK + b"abcd", "status 200 instead of a 4xx"),
        (INVALID, b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", "status 500 instead of a 4xx"),
    ],
)
def test_an_answer_that_is_not_as_it_should_be_is_a_problem(exchange: Exchange, raw: bytes, problem: str) -> None:
    with answering(raw) as server:
        found = carry_out(server.url, exchange)
    assert problem in found
    assert bool(found) == bool(problem)
