"""The bytes of every audio format, as other programs read them."""

from __future__ import annotations

import io
import wave

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from support.properties import property_settings
from tts_service.errors import Code, RequestFailed
from tts_service.gateway.encoders import MP3_RATES_HZ, Encoder, check_rate, make_encoder
from tts_service.gateway.pcm import Int16

RATE_HZ = 24000
# What LAME's encoder delay (1105 samples) and the filling up of the last frame (1152 at most) add.
MP3_SLACK = 1105 + 2 * 1152


def tone(n_samples: int, rate_hz: int = RATE_HZ) -> Int16:
    pcm: Int16 = np.rint(9000 * np.sin(2 * np.pi * 440 * np.arange(n_samples) / rate_hz)).astype("<i2")
    return pcm


def encode(
    response_format: str, pieces: list[Int16], rate_hz: int = RATE_HZ, *, streamed: bool, kbps: int = 64
) -> bytes:
    encoder = make_encoder(response_format, rate_hz, kbps)
    head = encoder.begin(None if streamed else sum(map(len, pieces)))
    return head + b"".join(map(encoder.encode, pieces)) + encoder.end()


def test_the_header_of_a_wav_is_the_canonical_44_bytes() -> None:
    assert make_encoder("wav", 24000, 64).begin(10) == bytes.fromhex(
        "52494646 38000000 57415645"  # RIFF, 36 + 20 bytes follow, WAVE
        "666d7420 10000000 0100 0100 c05d0000 80bb0000 0200 1000"  # fmt, PCM, mono, 24000 Hz, 48000 bytes/s, 16 bits
        "64617461 14000000"  # data, 20 bytes
    )


def test_the_header_of_a_streamed_wav_says_that_no_length_is_known() -> None:
    header = make_encoder("wav", 24000, 64).begin(None)
    assert len(header) == 44
    assert header[4:8] == header[40:44] == b"\xff\xff\xff\xff"
    assert header[8:40] == make_encoder("wav", 24000, 64).begin(10)[8:40]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("rate_hz", [8000, 22050, 24000, 48000])
@pytest.mark.parametrize("n_samples", [0, 1, 4999])
def test_a_wav_is_read_by_others(n_samples: int, rate_hz: int, streamed: bool) -> None:
    pcm = tone(n_samples, rate_hz)
    body = encode("wav", [pcm], rate_hz, streamed=streamed)
    assert len(body) == 44 + 2 * n_samples
    with wave.open(io.BytesIO(body)) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, rate_hz)
        assert streamed or file.getnframes() == n_samples
        assert file.readframes(1 << 20) == pcm.tobytes()
    samples, rate = soundfile.read(io.BytesIO(body), dtype="int16")
    assert rate == rate_hz
    assert np.array_equal(samples, pcm)


@property_settings(60)
@given(st.lists(st.integers(0, 300), max_size=10), st.sampled_from(["pcm", "wav"]))
def test_uncompressed_audio_is_whole_samples_however_it_comes(lengths: list[int], response_format: str) -> None:
    pcm = tone(sum(lengths))
    pieces = np.split(pcm, np.cumsum(lengths)[:-1]) if lengths else []
    encoder = make_encoder(response_format, RATE_HZ, 64)
    encoder.begin(None)
    coded = [encoder.encode(piece) for piece in pieces]
    assert all(len(data) % 2 == 0 for data in coded)
    assert b"".join(coded) + encoder.end() == pcm.tobytes()


def test_content_types_say_what_is_inside() -> None:
    types = {name: make_encoder(name, 22050, 64).content_type for name in ("mp3", "wav", "pcm")}
    assert types == {"mp3": "audio/mpeg", "wav": "audio/wav", "pcm": "audio/pcm; rate=22050; channels=1"}


@property_settings(25)
@given(st.lists(st.integers(0, 12000), max_size=8))
def test_a_streamed_mp3_has_the_bytes_of_one_in_one_piece(cuts: list[int]) -> None:
    pcm = tone(12000)
    whole = encode("mp3", [pcm], streamed=False)
    assert encode("mp3", np.split(pcm, sorted(cuts)), streamed=True) == whole


@pytest.mark.parametrize("kbps", [32, 64, 160])
@pytest.mark.parametrize("rate_hz", MP3_RATES_HZ)
def test_an_mp3_has_its_rate_and_its_length(rate_hz: int, kbps: int) -> None:
    body = encode("mp3", [tone(rate_hz, rate_hz)], rate_hz, streamed=True, kbps=kbps)
    samples, rate = soundfile.read(io.BytesIO(body))
    assert (rate, samples.ndim) == (rate_hz, 1)
    assert rate_hz <= len(samples) <= rate_hz + MP3_SLACK
    middle = samples[rate_hz // 4 : rate_hz // 2]
    assert np.abs(middle).max() == pytest.approx(9000 / 32768, rel=0.1)


def test_the_bit_rate_of_an_mp3_is_the_one_that_is_set() -> None:
    sizes = [len(encode("mp3", [tone(10 * RATE_HZ)], streamed=True, kbps=kbps)) for kbps in (32, 64, 128)]
    assert sizes[1] / sizes[0] == pytest.approx(2, rel=0.05)
    assert sizes[2] / sizes[1] == pytest.approx(2, rel=0.05)
    assert 8 * sizes[1] / 10 == pytest.approx(64_000, rel=0.05)


def test_an_mp3_is_nothing_but_frames() -> None:
    body = encode("mp3", [tone(RATE_HZ)], streamed=True)
    assert body[0] == 0xFF
    assert body[1] & 0xE0 == 0xE0, "the first bytes are a frame and no ID3 tag"
    # A frame with the Xing or Info tag would tell players that everything joined to it is not there.
    for tag in (b"ID3", b"Xing", b"Info", b"TAG"):
        assert tag not in body[:1000]
        assert tag not in body[-200:]


def test_joined_mp3_bodies_are_one_longer_mp3() -> None:
    first, second = (encode("mp3", [tone(n)], streamed=True) for n in (9000, 24000))
    joined, rate = soundfile.read(io.BytesIO(first + second))
    alone = [len(soundfile.read(io.BytesIO(body))[0]) for body in (first, second)]
    assert rate == RATE_HZ
    assert len(joined) == sum(alone)


@pytest.mark.parametrize("response_format", ["mp3", "pcm"])
def test_no_audio_is_no_bytes(response_format: str) -> None:
    assert encode(response_format, [], streamed=True) == b""


def test_an_encoder_counts_its_bytes_and_its_time() -> None:
    encoder: Encoder = make_encoder("mp3", RATE_HZ, 64)
    body = encoder.begin(None) + encoder.encode(tone(RATE_HZ)) + encoder.end()
    assert encoder.n_bytes == len(body) > 0
    assert encoder.spent_s > 0


def test_mp3_has_its_own_rates_and_the_others_have_all() -> None:
    for rate_hz in MP3_RATES_HZ:
        check_rate("mp3", rate_hz)
    for response_format in ("wav", "pcm"):
        check_rate(response_format, 23456)
    with pytest.raises(RequestFailed, match="sample_rate = 23456: mp3 has 8000, 11025") as caught:
        check_rate("mp3", 23456)
    assert (caught.value.code, caught.value.param) == (Code.INVALID_REQUEST, "sample_rate")
