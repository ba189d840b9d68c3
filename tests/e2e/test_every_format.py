"""Each format from a real service, streamed and in one piece: nothing is missing at its end, nothing is added to it."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import openai
import pytest

from support.ffmpeg import decoded, probe
from support.samples import from_pcm
from support.service import Service
from tts_service.gateway.encoders import Format, fitting_rate, suffix_of

pytestmark = pytest.mark.system

TEXT = "The last word must be heard. And this is the end"
FORMATS = get_args(Format)
# Of 24 kHz: what a codec adds at the end, for its delay and its last frame.
EXTRA = {"mp3": 1105 + 1152, "aac": 1024 + 1023}
NEEDS_TO_BE_LIKE = {"mp3": 0.98, "aac": 0.95, "opus": 0.85}


@pytest.mark.parametrize("response_format", FORMATS)
def test_aud_09_every_format_holds_all_of_the_audio(either: Service, response_format: str) -> None:
    rate_hz = fitting_rate(response_format, 24000)
    expected = from_pcm(either.pcm(TEXT, sample_rate=rate_hz))
    for stream in (False, True):
        answer, body = either.speak(TEXT, response_format=response_format, stream=stream)
        assert answer.status == 200
        assert answer.headers["X-Sample-Rate"] == str(rate_hz)
        samples = decoded(body, response_format, rate_hz).astype(np.float32) / 32768
        assert 0 <= len(samples) - len(expected) <= EXTRA.get(response_format, 0)
        assert likeness(expected, samples) > NEEDS_TO_BE_LIKE.get(response_format, 0.99)


def likeness(expected: np.ndarray, heard: np.ndarray) -> float:
    """Return the best correlation of the audio's last quarter with what is heard, whatever the codec's delay."""
    size = len(expected) // 4
    end = expected[-size:]
    best = 0.0
    for delay in range(max(1, len(heard) - len(expected) + 1)):
        part = heard[len(expected) - size + delay : len(expected) + delay]
        best = max(best, float(np.dot(part, end) / np.sqrt(np.dot(part, part) * np.dot(end, end) + 1e-9)))
    return best


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("response_format", "content_type", "magic"),
    [
        ("opus", "audio/ogg; codecs=opus", b"OggS"),
        ("flac", "audio/flac", b"fLaC"),
        ("aac", "audio/aac", b"\xff\xf1"),
        ("wav_ulaw", "audio/wav", b"RIFF"),
        ("wav_alaw", "audio/wav", b"RIFF"),
        ("ulaw", "audio/basic", b""),
        ("alaw", "audio/x-alaw-basic", b""),
    ],
)
def test_wav_07_what_the_content_type_says_is_in_every_format(
    tone: Service, response_format: str, content_type: str, magic: bytes, stream: bool
) -> None:
    answer, body = tone.speak("x", response_format=response_format, stream=stream)
    assert answer.headers["Content-Type"] == content_type
    assert body.startswith(magic)
    assert magic == b"RIFF" or not body.startswith(b"RIFF")


@pytest.mark.parametrize("response_format", FORMATS)
def test_the_openai_client_writes_every_format_to_a_file_while_it_comes(
    tone: Service, response_format: str, tmp_path: Path
) -> None:
    path = tmp_path / f"speech.{suffix_of(response_format)}"
    with openai.OpenAI(base_url=f"{tone.url}/v1", api_key="x", max_retries=0) as client:
        create = client.audio.speech.with_streaming_response.create
        with create(model="tts-1", voice="alloy", input=TEXT, response_format=response_format) as answer:  # type: ignore[arg-type]
            answer.stream_to_file(path)
        whole = client.audio.speech.create(
            model="tts-1",
            voice="alloy",
            input=TEXT,
            response_format=response_format,  # type: ignore[arg-type]
            # The header of a streamed flac has no length.
            extra_body={"stream": False},
        )
    rate_hz = fitting_rate(response_format, 24000)
    n_samples = len(decoded(whole.content, response_format, rate_hz))
    assert len(decoded(path.read_bytes(), response_format, rate_hz)) == n_samples
    if response_format not in ("pcm", "ulaw", "alaw"):
        assert float(probe(whole.content, path)["duration"]) == pytest.approx(n_samples / rate_hz, rel=0.1)


@pytest.mark.parametrize("response_format", ["opus", "mp3", "aac"])
def test_the_same_request_has_the_same_bytes_in_another_run(hibari: Service, response_format: str) -> None:
    first, second = (hibari.speak(TEXT, response_format=response_format)[1] for _ in range(2))
    assert first == second


@pytest.mark.parametrize("speed", [0.25, 3.0, 4.0])
def test_a_speed_that_the_engine_does_not_have_is_stretched(hibari: Service, speed: float) -> None:
    usual = len(hibari.pcm(TEXT)) / speed
    found = [hibari.pcm(TEXT, speed=speed, stream=stream) for stream in (False, True)]
    assert found[0] == found[1]
    assert len(found[0]) == pytest.approx(usual, rel=0.15)


def test_silence_is_trimmed_off_both_ends_alike_streamed_and_whole(hibari: Service) -> None:
    plain = np.frombuffer(hibari.pcm(TEXT), "<i2").astype(int)
    found = [np.frombuffer(hibari.pcm(TEXT, trim=True, stream=stream), "<i2") for stream in (False, True)]
    assert np.array_equal(*found)
    loud = np.flatnonzero(np.abs(plain) >= 104)
    margin = 480
    assert np.array_equal(found[0], plain[max(0, loud[0] - margin) : loud[-1] + 1 + margin])
    assert len(found[0]) < len(plain)
