"""Counting the audio in a body while it comes."""

from __future__ import annotations

import io
import itertools
import struct
import wave

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.wav_bytes import RATE_HZ, wav
from tts_service.bench.audio_count import MAX_HEADER_BYTES, NoCount, PcmCount, WavCount
from tts_service.bench.speaker import SpeechFailed


def counted(body: bytes, cuts: list[int] | None = None) -> float:
    count = WavCount()
    places = [0, *sorted(cut % (len(body) + 1) for cut in cuts or ()), len(body)]
    seconds = sum(count.seconds(body[start:end]) for start, end in itertools.pairwise(places))
    count.end()
    return seconds


@given(st.lists(st.integers(0, 10_000), max_size=6))
def test_a_wav_has_the_same_length_however_it_comes(cuts: list[int]) -> None:
    assert counted(wav(RATE_HZ // 4, extra=struct.pack("<4sI", b"LIST", 3) + b"abc\0"), cuts) == pytest.approx(0.25)


def test_a_wav_of_the_standard_library_is_counted() -> None:
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(2)
        writer.setsampwidth(2)
        writer.setframerate(44100)
        writer.writeframes(bytes(4 * 4410))
    assert counted(file.getvalue()) == pytest.approx(0.1)


@pytest.mark.parametrize("size", [0, 0xFFFFFFFF, 0x7FFFFFFF])
def test_a_streamed_wav_is_as_long_as_what_comes(size: int) -> None:
    assert counted(wav(1600, size=size)) == pytest.approx(0.1)


def test_what_follows_the_data_is_no_audio() -> None:
    assert counted(wav(1600) + b"LIST\x04\0\0\0abcd") == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (wav(1600)[:-10], "lacks 10 bytes"),
        (wav(1600)[:30], "a body of 30 bytes, which is no WAV"),
        (b'{"error": "no"}', "no WAV; it begins with"),
        (b"RIFF\0\0\0\0AVI LIST", "no WAV"),
        (b"", "a body of 0 bytes"),
        (wav(8).replace(b"fmt ", b"fact"), "without a format"),
        (b"RIFF\0\0\0\0WAVEjunk\xff\xff\xff\x7f" + bytes(MAX_HEADER_BYTES), "without audio"),
    ],
)
def test_what_is_no_whole_wav_is_a_failure(body: bytes, words: str) -> None:
    with pytest.raises(SpeechFailed, match=words):
        counted(body)


def test_pcm_is_counted_by_its_rate_and_compressed_audio_is_not() -> None:
    assert PcmCount(8000).seconds(bytes(1600)) == pytest.approx(0.1)
    assert NoCount().seconds(b"ID3") == 0.0
