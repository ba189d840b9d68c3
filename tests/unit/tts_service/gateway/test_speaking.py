"""POST /v1/audio/speech through the application, with a scripted broker behind it."""

from __future__ import annotations

import io
import logging
import threading
from typing import Any

import numpy as np
import pytest
import soundfile

from support.fake_client import FakeClient, FakeGateway
from support.pools import pool
from support.scripted_broker import ScriptedBroker, answer_whole, audio_of
from support.spoken import silent
from tts_service.errors import Code
from tts_service.gateway.pcm import to_int16
from tts_service.protocol import Job

TEXT = "Hello there. How are you?"
PCM = to_int16(np.concatenate([audio_of("Hello there."), audio_of("How are you?")])).tobytes()


def error_code(answer: Any) -> tuple[int, str, str | None]:
    error = answer.get_json()["error"]
    return answer.status_code, error["code"], error["param"]


def test_pcm_is_streamed_and_is_exactly_the_speech() -> None:
    gateway = FakeGateway()
    answer = gateway.speak(TEXT, response_format="pcm", seed=5)
    assert (answer.status_code, answer.content_type) == (200, "audio/pcm; rate=24000; channels=1")
    assert "Content-Length" not in answer.headers
    assert answer.headers["X-Accel-Buffering"] == "no"
    assert (answer.headers["X-Seed"], answer.headers["X-Sample-Rate"]) == ("5", "24000")
    assert answer.data == PCM


@pytest.mark.parametrize("response_format", ["pcm", "wav", "mp3"])
def test_streamed_and_buffered_audio_are_the_same(response_format: str) -> None:
    streamed, buffered = (
        FakeGateway().speak(TEXT, response_format=response_format, stream=stream) for stream in (True, False)
    )
    head = 44 if response_format == "wav" else 0
    assert streamed.data[head:] == buffered.data[head:]
    assert buffered.headers["Content-Length"] == str(len(buffered.data))


def test_a_wav_is_answered_in_one_piece_with_exact_sizes() -> None:
    answer = FakeGateway().speak(TEXT, response_format="wav")
    assert answer.content_type == "audio/wav"
    assert answer.headers["Content-Length"] == str(44 + len(PCM))
    assert answer.data[44:] == PCM
    assert soundfile.info(io.BytesIO(answer.data)).frames == len(PCM) // 2


def test_mp3_is_the_default_and_has_the_default_rate() -> None:
    client = FakeClient([pool(sample_rate_hz=22050)])
    answer = FakeGateway(client).speak(TEXT)
    assert (answer.content_type, answer.headers["X-Sample-Rate"]) == ("audio/mpeg", "24000")
    samples, rate_hz = soundfile.read(io.BytesIO(answer.data))
    assert rate_hz == 24000
    assert len(samples) >= len(PCM) / 2 * 24000 / 22050


def test_what_the_request_says_reaches_the_jobs() -> None:
    gateway = FakeGateway()
    gateway.speak(TEXT, voice="bert", speed=1.5, language="de", response_format="pcm").close()
    jobs = gateway.client.posted
    assert [job.text for job in jobs] == ["Hello there.", "How are you?"]
    assert {(job.voice, job.speed, job.language, job.streamed, job.client) for job in jobs} == {
        ("bert", 1.5, "de", True, "127.0.0.1")
    }


def test_two_requests_with_one_id_do_not_hear_each_other() -> None:
    gateway = FakeGateway()
    for _ in range(2):
        gateway.speak(TEXT, http={"headers": {"X-Request-Id": "same"}}).close()
    names = {job.key.request_id for job in gateway.client.posted}
    assert len(names) == 2
    assert all(name.startswith("same.") for name in names)


def test_a_segment_is_never_longer_than_settings_and_engine_allow() -> None:
    client = FakeClient([pool(max_segment_chars=25)])
    text = "word " * 40
    FakeGateway(client).speak(text, response_format="wav")
    assert max(len(job.text) for job in client.posted) <= 25
    assert " ".join(job.text for job in client.posted).split() == text.split()


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ("application/vnd.api+json", 200),
        ("", 200),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
    ],
)
def test_a_body_says_that_it_is_json_or_nothing(content_type: str, status: int) -> None:
    answer = FakeGateway().http.post("/v1/audio/speech", data=b'{"input": "Hello."}', content_type=content_type)
    assert answer.status_code == status
    if status == 415:
        assert error_code(answer) == (415, "unsupported_media_type", None)
        assert "expected application/json" in answer.get_json()["error"]["message"]


def test_a_body_over_the_limit_is_refused_sized_or_not() -> None:
    gateway = FakeGateway(max_body_bytes=1024)
    body = b'{"input": "' + b"x" * 2000 + b'"}'
    sized = gateway.http.post("/v1/audio/speech", data=body, content_type="application/json")
    chunked = gateway.http.post(
        "/v1/audio/speech",
        input_stream=io.BytesIO(body),
        content_type="application/json",
        environ_overrides={"wsgi.input_terminated": True, "HTTP_TRANSFER_ENCODING": "chunked"},
    )
    for answer in (sized, chunked):
        assert error_code(answer)[:2] == (413, "body_too_large")
        assert "1024 bytes" in answer.get_json()["error"]["message"]
    assert gateway.client.posted == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"input": ""}, (400, "nothing_to_speak", "input")),
        ({"input": "…"}, (400, "nothing_to_speak", "input")),
        ({"input": "x" * 501}, (400, "text_too_long", "input")),
        ({"input": 5}, (400, "invalid_request", "input")),
        ({"voice": "nobody"}, (400, "voice_not_found", "voice")),
        ({"model": "tts-9"}, (404, "model_not_found", "model")),
        ({"speed": 5}, (400, "invalid_request", "speed")),
        ({"language": "de"}, (400, "invalid_request", "language")),
        ({"response_format": "opus", "sample_rate": 22050}, (400, "invalid_request", "sample_rate")),
        ({"response_format": "ulaw", "sample_rate": "native"}, (400, "invalid_request", "sample_rate")),
        ({"sample_rate": 12345}, (400, "invalid_request", "sample_rate")),
        ({"input": "Привет"}, (400, "unsupported_text", "input")),
        ({"response_format": "ogg"}, (400, "invalid_request", "response_format")),
    ],
)
def test_a_request_that_cannot_be_spoken_is_refused_before_anything_is_asked_of_a_worker(
    fields: dict[str, Any], expected: tuple[int, str, str]
) -> None:
    gateway = FakeGateway(FakeClient([pool(scripts=["LATIN"])]), max_text_chars=500)
    answer = gateway.http.post("/v1/audio/speech", json={"input": "Hello."} | fields)
    assert error_code(answer) == expected
    assert gateway.client.posted == []
    assert gateway.admission.n_inside == 0


def test_a_service_without_pools_is_not_ready() -> None:
    answer = FakeGateway(FakeClient([])).speak()
    assert error_code(answer) == (503, "not_ready", None)
    assert int(answer.headers["Retry-After"]) >= 1


def test_halves_of_two_versions_speak_nothing() -> None:
    client = FakeClient()
    client.refused = "restart the older half"
    answer = FakeGateway(client).speak()
    assert error_code(answer) == (503, "version_mismatch", None)
    assert answer.get_json()["error"]["message"] == "restart the older half"


@pytest.mark.parametrize("code", [Code.QUEUE_FULL, Code.ENGINE_FAILED, Code.AUDIO_TOO_LONG, Code.MODEL_NOT_FOUND])
@pytest.mark.parametrize("stream", [True, False])
def test_a_failure_before_the_first_audio_is_an_answer_of_its_own(code: Code, stream: bool) -> None:
    client = FakeClient(script=lambda broker, job: broker.fail(job, code, "it broke"))
    gateway = FakeGateway(client)
    answer = gateway.speak(stream=stream)
    assert error_code(answer) == (code.status, code.value, "input")
    assert answer.content_type == "application/json"
    if code.status == 503:
        assert (answer.headers["Retry-After"], answer.headers["x-should-retry"]) == ("3", "true")
    assert gateway.admission.n_inside == 0
    answer.close()
    assert [report.outcome for report in client.reports] == [code.value]


def fails_later(broker: ScriptedBroker, job: Job) -> None:
    """Script: speak the first segment, and fail in the second."""
    if job.key.segment == 0:
        answer_whole(broker, job)
    else:
        broker.fail(job, Code.ENGINE_FAILED)


def test_a_failure_after_the_first_audio_breaks_the_stream_off() -> None:
    texts = "First sentence is here and long enough for more than one chunk. Second one."
    client = FakeClient(script=fails_later)
    gateway = FakeGateway(client, segments_ahead=1)
    answer = gateway.speak(texts, response_format="pcm")
    assert answer.status_code == 200
    with pytest.raises(ConnectionResetError):
        _ = answer.data
    answer.close()
    assert gateway.admission.n_inside == 0
    assert [report.outcome for report in client.reports] == ["engine_failed"]


def test_a_client_that_cannot_see_a_broken_stream_gets_a_whole_answer_or_an_error() -> None:
    http_1_0 = {"environ_overrides": {"SERVER_PROTOCOL": "HTTP/1.0"}}
    whole = FakeGateway().speak(TEXT, http=http_1_0, response_format="pcm")
    assert (whole.data, whole.headers["Content-Length"]) == (PCM, str(len(PCM)))
    failed = FakeGateway(FakeClient(script=fails_later)).speak(TEXT, http=http_1_0, response_format="pcm")
    assert error_code(failed) == (500, "engine_failed", "input")


def test_an_answer_in_one_piece_has_a_limit_and_a_stream_has_none() -> None:
    gateway = FakeGateway(max_audio_s=0.05)
    assert error_code(gateway.speak(TEXT, response_format="wav")) == (400, "audio_too_long", "input")
    assert gateway.speak(TEXT, response_format="pcm").data == PCM


def test_more_requests_than_allowed_are_refused_at_once_and_others_still_answered() -> None:
    gateway = FakeGateway(max_requests=2)
    streams = [gateway.speak(TEXT, response_format="pcm") for _ in range(2)]
    answer = gateway.speak(TEXT)
    assert error_code(answer) == (503, "too_many_requests", None)
    assert answer.headers["Retry-After"] == "1"
    assert gateway.http.get("/health").status_code == 200
    assert streams[0].data == PCM
    assert gateway.admission.n_inside == 1
    assert gateway.speak(TEXT, response_format="wav").status_code == 200
    streams[1].close()
    assert gateway.admission.n_inside == 0


def test_a_stream_that_is_closed_early_gives_everything_back() -> None:
    client = FakeClient(script=lambda broker, job: broker.speak(job, 0, None))
    gateway = FakeGateway(client, first_chunk_s=0.02)
    answer = gateway.speak(TEXT, response_format="pcm")
    assert gateway.admission.n_inside == 1
    answer.close()
    assert gateway.admission.n_inside == 0
    assert [key.segment for key in client.withdrawn] == [0, 1]
    assert [report.outcome for report in client.reports] == ["client_gone"]


def test_an_accident_is_a_500_and_gives_everything_back(caplog: pytest.LogCaptureFixture) -> None:
    def bug(broker: ScriptedBroker, job: Job) -> None:
        raise KeyError("bug")

    gateway = FakeGateway(FakeClient(script=bug))
    answer = gateway.speak(TEXT, http={"headers": {"X-Request-Id": "r-5"}})
    assert error_code(answer) == (500, "internal", None)
    assert "request r-5: unexpected error" in caplog.text
    assert gateway.admission.n_inside == 0


def test_a_request_that_hears_nothing_times_out() -> None:
    gateway = FakeGateway(FakeClient(script=silent), progress_timeout_s=0.01)
    assert error_code(gateway.speak(TEXT)) == (504, "timed_out", None)
    assert gateway.admission.n_inside == 0


def test_the_log_has_one_line_a_request_and_never_its_text(caplog: pytest.LogCaptureFixture) -> None:
    gateway = FakeGateway()
    with caplog.at_level(logging.INFO):
        gateway.speak(TEXT, http={"headers": {"X-Request-Id": "r-9"}}, response_format="wav")
    lines = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    assert len([line for line in lines if "id=r-9" in line]) == 1
    line = next(line for line in lines if "id=r-9" in line)
    for part in ("outcome=complete", "voice=anna", "format=wav", f"characters={len(TEXT)}", "segments=2", "attempts=2"):
        assert part in line
    assert "Hello" not in caplog.text


def test_a_report_says_what_the_request_was() -> None:
    gateway = FakeGateway()
    answer = gateway.speak(TEXT, response_format="pcm")
    assert gateway.client.reports == []
    assert answer.data == PCM
    answer.close()
    (report,) = gateway.client.reports
    assert (report.route, report.outcome, report.pool) == ("/v1/audio/speech", "complete", "default")
    assert (report.response_format, report.streamed, report.characters) == ("pcm", True, len(TEXT))
    assert (report.n_bytes, report.retries) == (len(PCM), 0)
    assert report.audio_s == pytest.approx(len(PCM) / 2 / 24000)


def test_requests_on_many_threads_each_get_their_own_audio() -> None:
    gateway = FakeGateway(max_requests=40, threads=64)
    texts = [f"This is request number {number}." for number in range(24)]
    bodies: dict[str, bytes] = {}

    def ask(text: str) -> None:
        fields = {"input": text, "response_format": "pcm", "normalize": False}
        answer = gateway.app.test_client().post("/v1/audio/speech", json=fields)
        bodies[text] = answer.data

    threads = [threading.Thread(target=ask, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20.0)
    assert bodies == {text: to_int16(audio_of(text)).tobytes() for text in texts}
    assert gateway.admission.n_inside == 0
