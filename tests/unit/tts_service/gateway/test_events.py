"""Server-sent events: together they are the stream, the end is said, and so is a failure."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from support.fake_client import FakeClient, FakeGateway
from support.scripted_broker import ScriptedBroker
from tts_service.errors import Code
from tts_service.protocol import Job

TEXT = "First comes this. Then comes that. And a last one."
FORMATS = ["mp3", "opus", "aac", "flac", "wav", "pcm", "ulaw", "wav_alaw"]


def events(body: bytes) -> list[dict[str, Any]]:
    """Return the data of each event; AssertionError where it is not the form of the standard."""
    assert body.endswith(b"\n\n")
    found = []
    for block in body.decode("utf-8").removesuffix("\n\n").split("\n\n"):
        *names, data = block.split("\n")
        value = json.loads(data.removeprefix("data: "))
        assert data.startswith("data: ")
        assert names == (["event: error"] if value["type"] == "error" else [])
        found.append(value)
    return found


def audio(found: list[dict[str, Any]]) -> bytes:
    return b"".join(base64.b64decode(event["audio"]) for event in found if event["type"] == "speech.audio.delta")


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("response_format", FORMATS)
def test_the_pieces_are_the_answer_without_events(response_format: str, stream: bool) -> None:
    gateway = FakeGateway()
    fields = {"response_format": response_format, "stream": stream}
    answer = gateway.speak(TEXT, stream_format="sse", **fields)
    assert answer.content_type == "text/event-stream; charset=utf-8"
    assert ("X-Accel-Buffering" in answer.headers) is stream
    found = events(answer.data)
    assert audio(found) == gateway.speak(TEXT, **fields).data
    assert [event["type"] for event in found].count("speech.audio.done") == 1
    assert found[-1]["type"] == "speech.audio.done"


def test_the_end_says_what_was_used() -> None:
    found = events(FakeGateway().speak(TEXT, stream_format="sse", response_format="pcm").data)
    n_tokens = round(len(audio(found)) / 2 / 24000 * 20)
    usage = {"input_tokens": len(TEXT), "output_tokens": n_tokens, "total_tokens": len(TEXT) + n_tokens}
    assert found[-1] == {"type": "speech.audio.done", "usage": usage}


@pytest.mark.parametrize(
    ("accept", "stream_format", "is_events"),
    [
        ("text/event-stream", None, True),
        ("text/event-stream, */*;q=0.1", None, True),
        ("*/*", None, False),
        ("audio/mpeg, text/event-stream;q=0.5", None, False),
        ("text/event-stream", "audio", False),
        ("audio/*", "sse", True),
    ],
)
def test_events_are_for_those_who_ask_in_one_way_or_the_other(
    accept: str, stream_format: str | None, is_events: bool
) -> None:
    answer = FakeGateway().speak("Hi.", {"headers": {"Accept": accept}}, stream_format=stream_format)
    assert answer.content_type.startswith("text/event-stream") is is_events


def fail_on_the_second(broker: ScriptedBroker, job: Job) -> None:
    if job.key.segment == 1:
        broker.fail(job, Code.ENGINE_FAILED, "the engine broke")
    else:
        broker.speak(job, 0, None)
        broker.end(job)


def test_a_failure_on_the_way_is_an_event_and_no_end() -> None:
    gateway = FakeGateway(FakeClient(script=fail_on_the_second), first_chunk_s=0.02, chunk_s=0.02)
    answer = gateway.speak(TEXT, stream_format="sse", response_format="pcm")
    assert answer.status_code == 200
    found = events(answer.data)
    assert [event["type"] for event in found][-1] == "error"
    assert found[-1]["error"] == {
        "message": "the engine broke",
        "type": "server_error",
        "param": "input",
        "code": "engine_failed",
    }
    assert "speech.audio.done" not in [event["type"] for event in found]
    answer.close()
    assert gateway.client.reports[-1].outcome == "engine_failed"
    assert gateway.admission.n_inside == 0


def test_a_failure_before_the_first_audio_is_an_answer_with_its_status() -> None:
    def fail(broker: ScriptedBroker, job: Job) -> None:
        broker.fail(job, Code.ENGINE_FAILED, "the engine broke")

    answer = FakeGateway(FakeClient(script=fail)).speak(TEXT, stream_format="sse")
    assert (answer.status_code, answer.content_type) == (500, "application/json")


def test_a_field_without_effect_is_named() -> None:
    gateway = FakeGateway()
    assert gateway.speak("Hi.", instructions="Be glad.").headers["X-Ignored"] == "instructions"
    assert "X-Ignored" not in gateway.speak("Hi.", instructions="").headers
