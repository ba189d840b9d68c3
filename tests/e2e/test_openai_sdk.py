"""The official Python client, unmodified, gets from this service what it gets from OpenAI."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest
import soundfile

from support.raw_http import RawClient
from support.samples import pcm_of_wav, tone_samples
from support.service import Service, engine_options, running, wait_until

pytestmark = pytest.mark.system


def client_of(service: Service, max_retries: int = 0) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{service.url}/v1", api_key="none needed", max_retries=max_retries)


@pytest.fixture
def client(tone: Service) -> Iterator[openai.OpenAI]:
    with client_of(tone) as client:
        yield client


def test_speech_arrives_in_every_format(client: openai.OpenAI, tone: Service) -> None:
    expected = tone.pcm("Hello there.", voice="hz500")
    for response_format in ("wav", "mp3", "pcm"):
        answer = client.audio.speech.create(
            model="tts-1", voice="hz500", input="Hello there.", response_format=response_format
        )
        if response_format == "mp3":
            assert soundfile.info(io.BytesIO(answer.content)).format == "MP3"
        else:
            assert (pcm_of_wav(answer.content) if response_format == "wav" else answer.content) == expected


def test_a_streamed_answer_is_written_to_a_file_while_it_comes(client: openai.OpenAI, tmp_path: Path) -> None:
    path = tmp_path / "speech.mp3"
    with client.audio.speech.with_streaming_response.create(
        model="gpt-4o-mini-tts", voice="hz400", input="As it comes. " * 20, instructions="Speak clearly.", speed=1.5
    ) as answer:
        answer.stream_to_file(path)
    n_samples = tone_samples(*["As it comes."] * 20, speed=1.5)
    assert 0 <= len(soundfile.read(path)[0]) - n_samples < 4 * 576


def test_a_voice_is_named_by_a_string_or_by_an_object(client: openai.OpenAI, tone: Service) -> None:
    expected = tone.pcm("Which voice?", voice="hz700")
    for voice in ("hz700", {"id": "hz700"}):
        answer = client.audio.speech.create(model="tone", voice=voice, input="Which voice?", response_format="pcm")
        assert answer.content == expected


def test_our_own_fields_go_through_extra_body(client: openai.OpenAI, tone: Service) -> None:
    answer = client.audio.speech.create(
        model="tone", voice="hz400", input="More.", response_format="pcm", extra_body={"seed": 3, "sample_rate": 16000}
    )
    assert answer.content == tone.pcm("More.", seed=3, sample_rate=16000)
    assert answer.response.headers["x-sample-rate"] == "16000"


def test_an_unknown_voice_is_a_bad_request_that_names_its_field(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.audio.speech.create(model="tts-1", voice="nobody", input="Hello.")
    error = caught.value
    assert isinstance(error, openai.APIStatusError)
    assert (error.status_code, error.code, error.param) == (400, "voice_not_found", "voice")
    assert error.type == "invalid_request_error"
    assert error.request_id


def test_an_unknown_model_is_not_found(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        client.audio.speech.create(model="nobody", voice="hz400", input="Hello.")
    assert caught.value.code == "model_not_found"


def test_a_stream_that_breaks_off_is_an_error(client: openai.OpenAI) -> None:
    request = client.audio.speech.with_streaming_response.create(
        model="tone", voice="hz400", input="a" * 100 + "[[fail at=2]]", response_format="pcm"
    )
    with request as answer, pytest.raises(Exception, match=r"incomplete|peer closed"):
        answer.read()


def test_models_are_listed(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["default"]
    assert client.models.retrieve("default").owned_by == "tts-service"


def test_a_refusal_for_want_of_room_is_tried_again_until_there_is_some() -> None:
    limits = {"TTS_SERVICE_GATEWAY_MAX_REQUESTS": "1"}
    flags = ("--engine", "tone", "--workers", "1")
    with (
        running(*flags, env=engine_options(step_cost_s=0.1) | limits) as service,
        RawClient(service) as first,
        client_of(service, max_retries=5) as patient,
        client_of(service) as hasty,
    ):
        first.speech("word " * 8, response_format="wav")
        wait_until(lambda: not service.is_idle(), 5.0, "work")
        with pytest.raises(openai.InternalServerError) as caught:
            hasty.audio.speech.create(model="tone", voice="hz400", input="Me too.")
        assert (caught.value.status_code, caught.value.code) == (503, "too_many_requests")
        assert int(caught.value.response.headers["retry-after"]) >= 1
        answer = patient.audio.speech.create(model="tone", voice="hz400", input="Me too.", response_format="pcm")
        assert len(answer.content) // 2 == tone_samples("Me too.")
        assert first.answer().status == 200
