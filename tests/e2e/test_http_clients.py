"""Clients that leave, stall, or speak HTTP in unusual ways."""

from __future__ import annotations

import http.client
import json

import pytest

from support.load import at_once
from support.raw_http import JSON, SPEECH, RawClient
from support.samples import tone_samples
from support.service import Service, running, wait_until

pytestmark = pytest.mark.system

MINUTE = "word " * 200
"""60 s of audio in four segments."""


def audio_made_s(service: Service) -> float:
    """Return the audio that the only worker has made so far; a finished segment makes it tell at once."""
    service.pcm("x")
    return float(service.workers()[0]["audio_seconds"])


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("leave", ["reset", "close"])
def test_http_01_a_client_that_leaves_stops_the_work_for_it(paced: Service, leave: str, stream: bool) -> None:
    before_s = audio_made_s(paced)
    n_gone = paced.text_of_log().count("outcome=client_gone")
    client = RawClient(paced)
    client.speech(MINUTE, response_format="pcm", stream=stream)
    if stream:
        assert len(client.answer().read(1000)) == 1000
    else:
        wait_until(lambda: not paced.is_idle(), 5.0, "work")
    client.reset() if leave == "reset" else client.socket.close()
    paced.wait_idle(5.0)
    # Nine tenths of the minute were never made: the queued segments vanished, the running ones stopped.
    assert audio_made_s(paced) - before_s < 15.0
    assert paced.text_of_log().count("outcome=client_gone") == n_gone + 1
    assert paced.workers()[0]["slots"]["active"] == 0


@pytest.mark.parametrize("response_format", ["pcm", "wav", "mp3"])
@pytest.mark.parametrize(
    ("text", "voice", "status", "code"),
    [
        ("x", "nosuch", 400, "voice_not_found"),
        ("[[fail]] x", "hz400", 500, "engine_failed"),
        ("[[fail prepare=1]] x", "hz400", 500, "engine_failed"),
    ],
)
def test_http_03_a_failure_before_the_first_audio_is_an_answer_with_its_status(
    tone: Service, response_format: str, text: str, voice: str, status: int, code: str
) -> None:
    for stream in (True, False):
        answer, body = tone.speak(text, voice=voice, stream=stream, response_format=response_format)
        assert (answer.status, json.loads(body)["error"]["code"]) == (status, code)


@pytest.mark.parametrize("response_format", ["pcm", "wav", "mp3"])
def test_http_03_a_failure_after_the_first_audio_breaks_the_stream_off(tone: Service, response_format: str) -> None:
    with tone.connect() as connection:
        answer = connection.post(
            "/v1/audio/speech",
            {"input": "a" * 100 + "[[fail at=2]]", "stream": True, "response_format": response_format},
        )
        assert answer.status == 200
        with pytest.raises(http.client.IncompleteRead):
            answer.body()


def test_http_03_an_http_1_0_client_never_gets_half_an_answer_as_a_whole_one(tone: Service) -> None:
    for text, status in (("a" * 100 + "[[fail at=2]]", 500), ("a" * 100, 200)):
        body = json.dumps({"input": text, "stream": True, "response_format": "pcm"}).encode()
        with RawClient(tone) as client:
            client.head(SPEECH.replace("1.1", "1.0"), JSON, f"Content-Length: {len(body)}")
            client.socket.sendall(body)
            answer = client.answer()
            data = answer.read()
            assert answer.status == status
            assert answer.headers["Content-Length"] == str(len(data))
    assert len(data) // 2 == tone_samples("a" * 100)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_http_05_a_chunked_request_is_read_like_a_sized_one(tone: Service, size: int) -> None:
    body = json.dumps({"input": "In some pieces.", "seed": 5, "response_format": "pcm"}).encode()
    with RawClient(tone) as client:
        client.head(SPEECH, JSON, "Transfer-Encoding: chunked")
        client.chunks(body[at : at + size] for at in range(0, len(body), size))
        client.socket.sendall(b"0\r\n\r\n")
        answer = client.answer()
        assert (answer.status, answer.read()) == (200, tone.pcm("In some pieces.", seed=5))


def test_http_05_a_client_that_waits_for_100_continue_gets_it(tone: Service) -> None:
    body = json.dumps({"input": "Go on.", "response_format": "pcm"}).encode()
    with RawClient(tone) as client:
        client.head(SPEECH, JSON, f"Content-Length: {len(body)}", "Expect: 100-continue")
        assert client.socket.recv(100).startswith(b"HTTP/1.1 100 Continue")
        client.socket.sendall(body)
        answer = client.answer()
        assert (answer.status, answer.read()) == (200, tone.pcm("Go on."))


def test_http_05_an_endless_chunked_body_is_cut_at_the_limit(tone: Service) -> None:
    with RawClient(tone) as client:
        client.head(SPEECH, JSON, "Transfer-Encoding: chunked")
        try:
            for _ in range(100):
                client.chunks([b" " * 65536])
        except (BrokenPipeError, ConnectionResetError):
            # The server may hang up while there is more to send.
            pass
        answer = client.answer()
        assert (answer.status, json.loads(answer.read())["error"]["code"]) == (413, "body_too_large")


def test_http_05_a_chunked_body_as_long_as_the_limit_is_read_whole(tone: Service) -> None:
    body = json.dumps({"input": "Long.", "response_format": "pcm"}).encode()
    for extra, status in ((0, 200), (1, 413)):
        with RawClient(tone) as client:
            client.head(SPEECH, JSON, "Transfer-Encoding: chunked")
            client.chunks([body, b" " * ((1 << 20) - len(body) + extra)])
            client.socket.sendall(b"0\r\n\r\n")
            assert client.answer().status == status


def test_http_09_a_stalled_reader_holds_neither_slots_nor_memory_nor_others(tone: Service) -> None:
    text = "A sentence of some length is spoken here. " * 600
    gateway = tone.named("tts-gateway")[-1]
    expected = tone.pcm(text)
    before = gateway.memory_info().rss
    with RawClient(tone, receive_buffer=4096) as client:
        client.speech(text, response_format="pcm", stream=True)
        answer = client.answer()
        # The segments ahead of the reader are made, and then nothing more is.
        tone.wait_idle()
        bodies = at_once(lambda n: tone.pcm(f"Number {n % 4}."), range(20), n_threads=4)
        assert bodies == bodies[:4] * 5
        # All of it would be 145 MB of samples.
        assert gateway.memory_info().rss - before < 30 << 20
        assert answer.read() == expected
    tone.wait_idle()


def test_http_09_a_reader_that_takes_nothing_for_too_long_is_cut_off() -> None:
    limits = {"TTS_SERVICE_GATEWAY_SEND_TIMEOUT_S": "1", "TTS_SERVICE_GATEWAY_MAX_REQUESTS": "1"}
    with running("--engine", "tone", "--workers", "1", env=limits) as service:
        with RawClient(service, receive_buffer=4096) as client:
            client.speech(MINUTE * 10, response_format="pcm", stream=True)
            answer = client.answer()
            wait_until(lambda: "outcome=client_gone" in service.text_of_log(), 30.0, "cut off")
            with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
                answer.read()
        service.wait_idle()
        # Its place among the requests in progress is free again: there is only one.
        assert service.pcm("Next.")


def test_a_client_that_only_ends_its_sending_side_counts_as_gone(paced: Service) -> None:
    n_gone = paced.text_of_log().count("outcome=client_gone")
    with RawClient(paced) as client:
        client.speech(MINUTE, response_format="wav")
        wait_until(lambda: not paced.is_idle(), 5.0, "work")
        client.socket.shutdown(1)
        wait_until(lambda: paced.text_of_log().count("outcome=client_gone") > n_gone, 5.0, "gone")
    paced.wait_idle(5.0)


def test_many_requests_share_one_connection(tone: Service) -> None:
    with tone.connect() as connection:
        for n in range(30):
            voice = "nobody" if n % 2 else None
            answer = connection.post("/v1/audio/speech", {"input": f"Turn {n % 3}.", "voice": voice})
            assert answer.status == (400 if n % 2 else 200)
            answer.body()
