"""What a listener gets: words that are understood, no clipping, no gaps, no clicks where sentences meet."""

from __future__ import annotations

import numpy as np
import pytest

from support.asr import Recognizer, word_error_rate
from support.load import at_once
from support.samples import decode, from_pcm, level_db, pauses_s
from support.sentences import PLAIN
from support.service import Service

pytestmark = pytest.mark.system

MAX_WORD_ERROR_RATE = 0.10


@pytest.fixture(scope="module")
def recognizer() -> Recognizer:
    return Recognizer()


def heard(recognizer: Recognizer, bodies: list[bytes]) -> str:
    return " ".join(recognizer.transcribe(*decode(body)) for body in bodies)


@pytest.mark.parametrize("response_format", ["wav", "mp3"])
def test_speech_is_understood(hibari: Service, recognizer: Recognizer, response_format: str) -> None:
    def speak(text: str) -> bytes:
        return hibari.speak(text, response_format=response_format, seed=1)[1]

    bodies = at_once(speak, PLAIN, n_threads=4)
    assert word_error_rate(" ".join(PLAIN), heard(recognizer, bodies)) <= MAX_WORD_ERROR_RATE


def test_a_streamed_text_of_many_sentences_is_understood(hibari: Service, recognizer: Recognizer) -> None:
    texts = [" ".join(PLAIN[at : at + 4]) for at in range(0, len(PLAIN), 4)]
    bodies = [hibari.speak(text, response_format="wav", stream=True, seed=2)[1] for text in texts]
    assert word_error_rate(" ".join(PLAIN), heard(recognizer, bodies)) <= MAX_WORD_ERROR_RATE


def test_speech_is_neither_clipped_nor_faint_nor_full_of_holes(hibari: Service) -> None:
    samples = from_pcm(hibari.pcm(" ".join(PLAIN), seed=3))
    assert np.abs(samples).max() < 0.99
    assert -40 < level_db(samples) < -10
    assert abs(float(samples.mean())) < 0.01
    # Between sentences the voice itself leaves up to 0.9 s.
    assert max(pauses_s(samples, 24000)) < 1.2


def test_no_click_is_heard_where_sentences_meet(hibari: Service) -> None:
    parts = [from_pcm(hibari.pcm(text, sample_rate="native", seed=3)) for text in PLAIN]
    whole = from_pcm(hibari.pcm(" ".join(PLAIN), sample_rate="native", seed=3))
    seams = np.cumsum([len(part) for part in parts])[:-1]
    assert len(whole) == sum(map(len, parts))
    for seam in seams:
        # The voice is silent there; a step of one part in a thousand is 60 dB down.
        assert np.abs(np.diff(whole[seam - 240 : seam + 240])).max() < 0.001


def test_no_click_is_added_by_the_resampler(hibari: Service) -> None:
    text = " ".join(PLAIN[:3])
    native = from_pcm(hibari.pcm(text, sample_rate="native", seed=3))
    for rate_hz in (8000, 16000, 44100, 48000):
        samples = from_pcm(hibari.pcm(text, sample_rate=rate_hz, seed=3, stream=True))
        assert abs(len(samples) / rate_hz - len(native) / 24000) < 0.001
        assert np.abs(samples).max() < 1.1 * np.abs(native).max()
        assert abs(level_db(samples) - level_db(native)) < 1.5
