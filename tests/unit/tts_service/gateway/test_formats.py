"""Every format as FFmpeg's own programs read it: the length is right, the sound is the one that went in, no clicks."""

from __future__ import annotations

import gc
import hashlib
import io
import subprocess
import sys
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from support.ffmpeg import decoded, probe
from support.properties import property_settings
from tts_service.gateway.encoders import Format, fitting_rate, make_encoder, suffix_of
from tts_service.gateway.pcm import Int16

FORMATS = get_args(Format)
# Samples that a decoder may give beyond those that went in: the delay of the encoder and the rest of its last frame.
EXTRA = {"mp3": 1105 + 1152, "aac": 1024 + 1023}
# Root mean square of what is not the sine, as a part of it.
DISTORTION = {"mp3": 0.05, "aac": 0.05, "opus": 0.1, "ulaw": 0.03, "alaw": 0.03, "wav_ulaw": 0.03, "wav_alaw": 0.03}


def sine(n_samples: int, rate_hz: int, hz: float = 440) -> Int16:
    pcm: Int16 = np.rint(9000 * np.sin(2 * np.pi * hz * np.arange(n_samples) / rate_hz)).astype("<i2")
    return pcm


def encoded(response_format: str, pcm: Int16, rate_hz: int, cut: int, *, streamed: bool) -> bytes:
    encoder = make_encoder(response_format, rate_hz, 64)
    head = encoder.begin(None) if streamed else b""
    parts = [encoder.encode(pcm[start : start + cut]) for start in range(0, len(pcm), cut)]
    return b"".join([head or encoder.begin(len(pcm)), *parts, encoder.end()])


@pytest.mark.parametrize("n_samples", [40, 959, 24777])
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("response_format", FORMATS)
def test_ffmpeg_decodes_all_of_the_audio_and_nothing_else(response_format: str, streamed: bool, n_samples: int) -> None:
    rate_hz = fitting_rate(response_format, 24000)
    body = encoded(response_format, sine(n_samples, rate_hz), rate_hz, 4800, streamed=streamed)
    samples = decoded(body, response_format, rate_hz)
    assert 0 <= len(samples) - n_samples <= EXTRA.get(response_format, 0)


@pytest.mark.parametrize("response_format", FORMATS)
def test_what_is_decoded_is_what_went_in_without_clicks_where_pieces_meet(response_format: str) -> None:
    rate_hz = fitting_rate(response_format, 24000)
    n_samples = 2 * rate_hz + 77
    # Pieces end anywhere in a frame.
    body = encoded(response_format, sine(n_samples, rate_hz), rate_hz, 1234, streamed=True)
    samples = decoded(body, response_format, rate_hz)[rate_hz // 10 : n_samples - rate_hz // 10].astype(float)
    phase = 2 * np.pi * 440 * np.arange(len(samples)) / rate_hz
    basis = np.stack([np.sin(phase), np.cos(phase)], axis=1)
    residue = samples - basis @ np.linalg.lstsq(basis, samples, rcond=None)[0]
    allowed = DISTORTION.get(response_format, 0.001) * 9000
    assert np.sqrt(np.mean(residue**2)) < allowed
    # A click is one sample far off, which a mean would not show.
    assert np.abs(residue).max() < 6 * allowed


@pytest.mark.parametrize(
    ("response_format", "codec", "container"),
    [
        ("mp3", "mp3", "mp3"),
        ("opus", "opus", "ogg"),
        ("aac", "aac", "aac"),
        ("flac", "flac", "flac"),
        ("wav", "pcm_s16le", "wav"),
        ("wav_ulaw", "pcm_mulaw", "wav"),
        ("wav_alaw", "pcm_alaw", "wav"),
    ],
)
def test_a_body_says_what_it_is_and_how_long(response_format: str, codec: str, container: str, tmp_path: Path) -> None:
    rate_hz = fitting_rate(response_format, 16000)
    body = encoded(response_format, sine(3 * rate_hz, rate_hz), rate_hz, 5000, streamed=False)
    found = probe(body, tmp_path / f"x.{suffix_of(response_format)}")
    assert (found["codec_name"], found["format_name"], found["channels"]) == (codec, container, 1)
    # Opus decodes at 48 kHz, whatever went in.
    assert int(found["sample_rate"]) == (48000 if response_format == "opus" else rate_hz)
    # ADTS has no length; it is guessed by the bit rate.
    tolerance = 0.5 if response_format == "aac" else 0.2
    assert float(found["duration"]) == pytest.approx(3.0, abs=tolerance)


@property_settings(20)
@given(st.lists(st.integers(0, 9000), max_size=6), st.sampled_from(["opus", "aac", "flac", "ulaw"]))
def test_the_bytes_do_not_depend_on_how_the_samples_come(cuts: list[int], response_format: str) -> None:
    rate_hz = fitting_rate(response_format, 24000)
    pcm = sine(9000, rate_hz)
    encoder = make_encoder(response_format, rate_hz, 64)
    parts = [encoder.encode(part) for part in np.split(pcm, sorted(cuts))]
    assert b"".join([encoder.begin(None), *parts, encoder.end()]) == encoded(
        response_format, pcm, rate_hz, len(pcm), streamed=True
    )


def test_a_flac_in_one_piece_has_its_length_and_its_md5() -> None:
    pcm = sine(30001, 24000)
    body = encoded("flac", pcm, 24000, 4000, streamed=False)
    assert soundfile.info(io.BytesIO(body)).frames == 30001
    # STREAMINFO ends with it (RFC 9639, 8.2).
    assert body[8 + 18 : 8 + 34] == hashlib.md5(pcm.tobytes()).digest()
    assert np.array_equal(soundfile.read(io.BytesIO(body), dtype="int16")[0], pcm)


def test_the_first_pages_of_an_opus_stream_leave_with_its_first_audio() -> None:
    encoder = make_encoder("opus", 24000, 64)
    first = encoder.encode(sine(4800, 24000))
    # OpusHead and OpusTags fill the first two pages.
    assert first.count(b"OggS") >= 3


def test_a_wav_of_g711_has_a_header_of_58_bytes_and_an_even_length() -> None:
    body = encoded("wav_ulaw", sine(801, 8000), 8000, 200, streamed=False)
    assert len(body) == 58 + 801 + 1
    assert int.from_bytes(body[4:8], "little") == len(body) - 8
    assert int.from_bytes(body[54:58], "little") == 801
    # The pad of a stream would be heard.
    assert len(encoded("wav_ulaw", sine(801, 8000), 8000, 200, streamed=True)) == 58 + 801


@pytest.mark.parametrize("response_format", ["opus", "aac", "ulaw"])
def test_no_audio_is_no_bytes(response_format: str) -> None:
    encoder = make_encoder(response_format, 8000, 64)
    assert encoder.begin(None) + encoder.end() == b""


def test_a_codec_is_loaded_by_the_first_request_that_needs_it() -> None:
    code = (
        "import sys, numpy, tts_service.gateway.app\n"
        "from tts_service.gateway.encoders import make_encoder\n"
        "encoder = make_encoder('mp3', 24000, 64); encoder.encode(numpy.zeros(9, 'int16'))\n"
        "print('av' in sys.modules); make_encoder('opus', 24000, 64); print('av' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


@pytest.mark.parametrize("n_pieces", [0, 3])
@pytest.mark.parametrize("response_format", ["opus", "aac"])
def test_an_encoder_that_is_left_in_the_middle_leaves_nothing_to_the_collector(
    response_format: str, n_pieces: int
) -> None:
    gc.collect()
    gc.disable()
    try:
        encoder = make_encoder(response_format, 24000, 64)
        for _ in range(n_pieces):
            encoder.encode(sine(5000, 24000))
        encoder.close()
        encoder.close()
        del encoder
        left = gc.collect()
    finally:
        gc.enable()
    assert left == 0


def test_flac_on_many_threads_gives_its_memory_back() -> None:
    """Each state takes 6 MB, and glibc's heaps of threads would keep them."""
    code = """
import threading, numpy
from tts_service.gateway.allocator import return_large_blocks
from tts_service.gateway.encoders import make_encoder
return_large_blocks()
def rss(): return int(open("/proc/self/statm").read().split()[1]) * 4096
def work():
    for _ in range(10):
        encoder = make_encoder("flac", 24000, 64)
        encoder.encode(numpy.zeros(24000, "int16")), encoder.end(), encoder.close()
work()
before = rss()
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(rss() - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 8 << 20


def test_encoding_and_stretching_start_no_threads() -> None:
    """PyAV's own filter graphs would start one for each CPU, for each request."""
    code = """
import os, numpy
from tts_service.gateway.encoders import make_encoder
from tts_service.gateway.stretch import Stretch
before = len(os.listdir("/proc/self/task"))
held = [make_encoder(name, 24000, 64) for name in ("mp3", "opus", "aac", "flac")]
for encoder in held: encoder.encode(numpy.zeros(24000, "int16"))
stretch = Stretch(24000, 2.0)
stretch.push(numpy.zeros(24000, "float32"))
print(len(os.listdir("/proc/self/task")) - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"
