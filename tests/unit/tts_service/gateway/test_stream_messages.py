"""What WebSocket clients send is read strictly; what they cannot have is refused by name."""

from __future__ import annotations

import pytest

from tts_service.errors import RequestFailed
from tts_service.gateway.stream_messages import StreamQuery, body_of, read_format, read_message, read_query
from tts_service.gateway.websocket import Refused


def test_the_query_of_a_client_is_understood_and_what_is_foreign_to_us_ignored() -> None:
    query = read_query(
        {"model_id": "eleven_flash_v2_5", "auto_mode": "true", "inactivity_timeout": "180", "enable_logging": "false"}
    )
    assert (query.auto_mode, query.inactivity_timeout, query.output_format) == (True, 180, "mp3_44100_128")
    body = body_of(query, "anna", 1.1)
    assert (body.model, body.voice, body.response_format, body.sample_rate) == (None, "anna", "mp3", 44100)
    assert (body.speed, body.stream, body.seed) == (1.1, True, None)
    assert body_of(StreamQuery(model_id="tone"), "anna", None).model == "tone"


@pytest.mark.parametrize(
    ("name", "value"),
    [("inactivity_timeout", "181"), ("inactivity_timeout", "nan"), ("auto_mode", "maybe"), ("seed", "-2")],
)
def test_a_query_that_cannot_be_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(RequestFailed) as caught:
        read_query({name: value})
    assert caught.value.param == name
    assert value in caught.value.message


def test_output_formats_name_coding_rate_and_bit_rate() -> None:
    audio = read_format("mp3_22050_32")
    assert (audio.response_format, audio.rate_hz, audio.kbps) == ("mp3", 22050, 32)
    assert read_format("pcm_16000").rate_hz == 16000


@pytest.mark.parametrize(
    "value", ["", "pcm", "pcm_", "wav_24000", "flac_1", "pcm_24000_1_2", "PCM_24000", "pcm_999999"]
)
def test_output_formats_that_there_are_not_are_refused(value: str) -> None:
    with pytest.raises(RequestFailed) as caught:
        body_of(StreamQuery(output_format=value), "anna", None)
    assert caught.value.param == "output_format"


def test_a_message_may_have_fields_of_which_we_know_nothing() -> None:
    message = read_message(
        '{"text": " ", "try_trigger_generation": true, "voice_settings": {"stability": 1, "speed": 1.2}}'
    )
    assert (message.text, message.voice_settings and message.voice_settings.speed) == (" ", 1.2)
    assert read_message('{"text": "a", "flush": null, "voice_settings": null}').flush is None


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '"text"', '{"text": 5}', '{"voice_settings": {"speed": 9}}', "[" * 100_000, '{"flush": "yes"}'],
)
def test_a_message_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(Refused) as caught:
        read_message(text)
    assert caught.value.code == 1008
