"""More requests than the service takes: refused at once, clearly, and everything else goes on answering."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager

import pytest

from support.load import at_once
from support.raw_http import RawClient
from support.service import Service, engine_options, running, wait_until

pytestmark = pytest.mark.system

TEXT = "word " * 200


def small_service(queue_limit: int) -> AbstractContextManager[Service]:
    """One worker with one slot, and a gateway that takes four requests, with one segment each at a time."""
    limits = {
        "TTS_SERVICE_GATEWAY_THREADS": "8",
        "TTS_SERVICE_GATEWAY_MAX_REQUESTS": "4",
        "TTS_SERVICE_GATEWAY_SEGMENTS_AHEAD": "1",
        "TTS_SERVICE_POOLS_DEFAULT_QUEUE_LIMIT": str(queue_limit),
        # On a busy machine the expected wait would be the first limit to be met.
        "TTS_SERVICE_POOLS_DEFAULT_MAX_WAIT_S": "3600",
    }
    env = engine_options(step_cost_s=0.05) | limits
    return running("--engine", "tone", "--workers", "1", "--slots", "1", env=env)


def test_over_the_limit_of_the_queue_requests_are_refused_at_once_and_health_answers() -> None:
    with small_service(queue_limit=2) as service:
        clients = [RawClient(service) for _ in range(3)]
        for client in clients:
            client.speech(TEXT, response_format="wav")
        wait_until(lambda: service.get("/workers")[1]["pools"][0]["queued"] == 2, 10.0, "a full queue")
        # The fourth finds a place in the gateway, but none in the queue.
        answer, body = service.speak("One more.")
        assert (answer.status, json.loads(body)["error"]["code"]) == (503, "queue_full")
        assert int(answer.headers["Retry-After"]) >= 1
        for path in ("/health", "/ready", "/workers", "/v1/models"):
            assert service.get(path)[0] == 200
        assert service.workers()[0]["segments_done"] == 0
        for client in clients:
            client.socket.close()
        service.wait_idle()


def test_a_gateway_takes_no_more_requests_than_it_may() -> None:
    # Four requests with one segment each: one in the slot, and three in the queue.
    with small_service(queue_limit=3) as service:
        streams = [RawClient(service) for _ in range(4)]
        for client in streams:
            client.speech(TEXT, response_format="pcm", stream=True)
        wait_until(lambda: service.get("/workers")[1]["pools"][0]["queued"] == 3, 10.0, "four requests")
        answers = at_once(lambda n: service.speak(f"Number {n}.", response_format="wav"), range(12))
        assert [answer.status for answer, _ in answers] == [503] * 12
        assert {json.loads(body)["error"]["code"] for _, body in answers} == {"too_many_requests"}
        assert all(int(answer.headers["Retry-After"]) >= 1 for answer, _ in answers)
        assert [service.get("/health")[0] for _ in range(20)] == [200] * 20
        for client in streams:
            client.socket.close()
        service.wait_idle()
        assert service.pcm("Room again.")


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
