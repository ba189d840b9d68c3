"""Containers of the answers: headers, sizes, and that a format is what its Content-Type says."""

from __future__ import annotations

import io
import struct
import wave
from pathlib import Path
from typing import Any

import pytest
import soundfile

from support.samples import WAV_HEADER_BYTES, pcm_of_wav
from support.service import Service

pytestmark = pytest.mark.system

UNKNOWN_SIZE = 0xFFFFFFFF
RATES = (8000, 22050, 24000, 44100, 48000)


@pytest.mark.parametrize("n_sentences", [1, 2, 8])
def test_wav_01_a_streamed_wav_has_one_header_and_then_pure_pcm(either: Service, n_sentences: int) -> None:
    text = "One short sentence here. " * n_sentences
    _, streamed = either.speak(text, response_format="wav", stream=True, seed=3)
    _, buffered = either.speak(text, response_format="wav", stream=False, seed=3)
    assert streamed[:4] == b"RIFF"
    assert streamed.count(b"WAVEfmt ") == 1
    assert pcm_of_wav(streamed) == pcm_of_wav(buffered)


def test_wav_03_the_sizes_of_a_streamed_wav_let_players_read_to_the_end(tone: Service, tmp_path: Path) -> None:
    _, body = tone.speak("Header check for a stream. And more.", response_format="wav", stream=True)
    assert struct.unpack("<I", body[4:8]) == (UNKNOWN_SIZE,)
    assert struct.unpack("<I", body[40:44]) == (UNKNOWN_SIZE,)
    path = tmp_path / "streamed.wav"
    path.write_bytes(body)
    with wave.open(str(path)) as reader:
        assert reader.readframes(reader.getnframes()) == body[WAV_HEADER_BYTES:]
    assert len(soundfile.read(path)[0]) == (len(body) - WAV_HEADER_BYTES) // 2


@pytest.mark.parametrize("rate_hz", RATES)
@pytest.mark.parametrize("stream", [False, True])
def test_wav_05_the_header_is_canonical_and_44_bytes_long(tone: Service, rate_hz: int, stream: bool) -> None:
    answer, body = tone.speak("Skip the header.", response_format="wav", stream=stream, sample_rate=rate_hz)
    assert answer.status == 200
    assert body[8:16] == b"WAVEfmt "
    assert struct.unpack("<IHHIIHH", body[16:36]) == (16, 1, 1, rate_hz, 2 * rate_hz, 2, 16)
    assert body[36:40] == b"data"
    if not stream:
        assert struct.unpack("<I", body[4:8]) == (len(body) - 8,)
        assert struct.unpack("<I", body[40:44]) == (len(body) - WAV_HEADER_BYTES,)
        assert answer.headers["Content-Length"] == str(len(body))


def test_wav_06_samples_are_16_bit_integers(either: Service) -> None:
    _, body = either.speak("Plain sixteen bit please.", response_format="wav")
    assert soundfile.info(io.BytesIO(body)).subtype == "PCM_16"
    with wave.open(io.BytesIO(body)) as reader:
        assert (reader.getsampwidth(), reader.getnchannels(), reader.getcomptype()) == (2, 1, "NONE")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("response_format", ["mp3", "wav", "pcm", None])
def test_wav_07_the_content_type_tells_what_the_bytes_are(
    tone: Service, response_format: str | None, stream: bool
) -> None:
    answer, body = tone.speak("x", response_format=response_format, stream=stream)
    assert answer.status == 200
    content_type = answer.headers["Content-Type"]
    if response_format == "wav":
        assert content_type == "audio/wav"
        assert body[:4] == b"RIFF"
    elif response_format == "pcm":
        assert content_type == "audio/pcm; rate=24000; channels=1"
        assert body[:4] != b"RIFF"
    else:
        assert content_type == "audio/mpeg"
        assert soundfile.info(io.BytesIO(body)).format == "MP3"
        # Eleven set bits open a frame (ISO 11172-3, 2.4.1.3): there is no tag before it.
        assert body[0] == 0xFF
        assert body[1] & 0xE0 == 0xE0


@pytest.mark.parametrize("stream", [False, True, None])
@pytest.mark.parametrize("response_format", ["ogg", "exe", "", "WAV", 5, ["wav"], {}])
def test_wav_07_a_format_that_is_not_offered_is_refused_by_name(
    tone: Service, response_format: Any, stream: bool | None
) -> None:
    answer, body = tone.speak("x", response_format=response_format, stream=stream)
    assert answer.status == 400
    assert answer.headers["Content-Type"] == "application/json"
    for name in (b"response_format", b"mp3", b"wav", b"pcm"):
        assert name in body


@pytest.mark.parametrize("stream", [False, True])
def test_wav_09_pcm_is_the_wav_without_its_header(either: Service, stream: bool) -> None:
    text = "Same words. Twice over."
    pcm = either.pcm(text, seed=7, stream=stream)
    _, wav = either.speak(text, seed=7, response_format="wav", stream=stream)
    assert pcm[:4] != b"RIFF"
    assert len(pcm) % 2 == 0
    assert pcm == pcm_of_wav(wav)
