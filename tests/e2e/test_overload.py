"""More requests than the service takes: refused at once, clearly, and everything else goes on answering."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import pytest

from support.load import at_once
from support.raw_http import RawClient
from support.service import Service, engine_options, running, wait_until

pytestmark = pytest.mark.system

TEXT = "word " * 200


@pytest.fixture(scope="module")
def small() -> Iterator[Service]:
    """One worker with one slot, four requests in progress, one segment waiting."""
    limits = {
        "TTS_SERVICE_GATEWAY_THREADS": "8",
        "TTS_SERVICE_GATEWAY_MAX_REQUESTS": "4",
        "TTS_SERVICE_GATEWAY_SEGMENTS_AHEAD": "1",
        "TTS_SERVICE_POOLS_DEFAULT_QUEUE_LIMIT": "2",
    }
    flags = ("--engine", "tone", "--workers", "1", "--slots", "1")
    with running(*flags, env=engine_options(step_cost_s=0.05) | limits) as service:
        yield service


def test_over_the_limits_requests_are_refused_at_once_and_health_answers(small: Service) -> None:
    clients = [RawClient(small) for _ in range(3)]
    for client in clients:
        client.speech(TEXT, response_format="wav")
    wait_until(lambda: small.get("/workers")[1]["pools"][0]["queued"] == 2, 10.0, "a full queue")
    # The fourth finds a place in the gateway, but none in the queue.
    answer, body = small.speak("One more.")
    assert (answer.status, json.loads(body)["error"]["code"]) == (503, "queue_full")
    assert int(answer.headers["Retry-After"]) >= 1
    for path in ("/health", "/ready", "/workers", "/v1/models"):
        assert small.get(path)[0] == 200
    assert small.workers()[0]["segments_done"] == 0
    for client in clients:
        client.socket.close()
    small.wait_idle()


def test_a_gateway_takes_no_more_requests_than_it_may(small: Service) -> None:
    streams = [RawClient(small) for _ in range(3)]
    for client in streams:
        client.speech(TEXT, response_format="pcm", stream=True)
    wait_until(lambda: not small.is_idle(), 5.0, "work")
    refused = Counter(json.loads(body)["error"]["code"] for answer, body in _flood(small, 12) if answer == 503)
    assert refused["too_many_requests"] >= 6
    assert set(refused) <= {"too_many_requests", "queue_full"}
    assert [small.get("/health")[0] for _ in range(20)] == [200] * 20
    for client in streams:
        client.socket.close()
    small.wait_idle()
    assert small.pcm("Room again.")


def _flood(service: Service, n: int) -> list[tuple[int, bytes]]:
    answers = at_once(lambda k: service.speak(f"Number {k}.", response_format="wav"), range(n))
    return [(answer.status, body) for answer, body in answers]


def test_an_audio_over_the_limit_is_refused_and_the_rest_of_it_not_made() -> None:
    limit = {"TTS_SERVICE_GATEWAY_MAX_AUDIO_S": "10", "TTS_SERVICE_GATEWAY_MAX_SEGMENT_S": "5"}
    with running("--engine", "tone", "--workers", "1", env=limit) as service:
        answer, body = service.speak("A sentence to fill the time. " * 50, response_format="wav")
        assert (answer.status, json.loads(body)["error"]["code"]) == (400, "audio_too_long")
        assert len(service.pcm("A sentence to fill the time. " * 50, stream=True)) > 10 * 48000
        answer, body = service.speak("a" * 100, response_format="wav")
        assert (answer.status, json.loads(body)["error"]["code"]) == (400, "audio_too_long")
        service.wait_idle()
        assert service.workers()[0]["audio_seconds"] < 10 + 90 + 4 * 5 + 10
