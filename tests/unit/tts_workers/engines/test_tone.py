"""The tone engine: pitch is the voice, length is the text, and faults strike only where they are allowed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.engine_cases import speak
from support.pools import job
from tts_service.errors import Code, EngineBroken, RequestFailed, SettingsError
from tts_workers.engines.base import EngineOptions
from tts_workers.engines.tone import AMPLITUDE, BLOCK_S, SECONDS_PER_CHAR, VOICE_HZ, ToneEngine

WITHOUT_LIMIT = 10**9


def engine(**options: Any) -> ToneEngine:
    made = ToneEngine(EngineOptions(None, 1, options))
    made.load()
    return made


def tone_job(text: str = "la " * 20, **changes: Any) -> Any:
    return job(text=text, **({"voice": "hz400", "max_samples": WITHOUT_LIMIT} | changes))


@pytest.mark.parametrize("voice", ["hz300", "hz900", "hz1800"])
@pytest.mark.parametrize("rate_hz", [8000, 24000, 44100])
def test_a_voice_is_its_pitch_at_every_rate(voice: str, rate_hz: int) -> None:
    samples = speak(engine(sample_rate_hz=rate_hz), tone_job(voice=voice)).samples
    spectrum = np.abs(np.fft.rfft(samples[:rate_hz]))  # (rate_hz // 2 + 1,): one bin a hertz
    assert int(spectrum.argmax()) == VOICE_HZ[voice]
    assert np.abs(samples).max() == pytest.approx(AMPLITUDE, rel=0.05)


@pytest.mark.parametrize("speed", [0.25, 1.0, 1.7, 4.0])
def test_the_length_is_that_of_the_text_over_the_speed(speed: float) -> None:
    text = "Hello."
    samples = speak(engine(), tone_job(text, speed=speed)).samples
    assert len(samples) == round(len(text) * SECONDS_PER_CHAR / speed * 24000)


def test_an_audio_begins_and_ends_softly_and_has_no_click_between_blocks() -> None:
    samples = speak(engine(), tone_job()).samples
    steepest = 2 * np.pi * 400 / 24000 * AMPLITUDE
    assert abs(samples[0]) < 0.01
    assert abs(samples[-1]) < 0.01
    assert np.abs(np.diff(samples)).max() < 1.2 * steepest


def test_a_step_makes_one_block() -> None:
    spoken = speak(engine(), tone_job("la " * 20))
    assert spoken.lengths[:-1] == [int(BLOCK_S * 24000)] * (len(spoken.lengths) - 1)
    assert 0 < spoken.lengths[-1] <= int(BLOCK_S * 24000)


@pytest.mark.parametrize("kind", ["crash", "exit", "hang", "spin", "late", "leak", "fail", "raise", "nan"])
def test_without_leave_orders_are_text_like_any_other(kind: str) -> None:
    text = f"[[{kind}]]"
    assert len(speak(engine(), tone_job(text)).samples) == round(len(text) * SECONDS_PER_CHAR * 24000)


def test_orders_are_not_spoken() -> None:
    plain = speak(engine(faults=True), tone_job("some text"))
    ordered = speak(engine(faults=True), tone_job("some [[late amount=0]]text"))
    assert ordered.samples.tobytes() == plain.samples.tobytes()


def test_a_failure_can_be_ordered_for_a_moment_and_for_the_first_attempts() -> None:
    text = "la " * 20 + "[[fail at=1 attempts=2]]"
    for attempt in (1, 2):
        with pytest.raises(RequestFailed) as caught:
            speak(engine(faults=True), tone_job(text, attempt=attempt))
        assert caught.value.code == Code.ENGINE_FAILED
    third = speak(engine(faults=True), tone_job(text, attempt=3))
    assert third.samples.tobytes() == speak(engine(faults=True), tone_job("la " * 20)).samples.tobytes()


def test_a_failure_in_the_preparation_comes_before_any_step() -> None:
    with pytest.raises(RequestFailed):
        engine(faults=True).start(tone_job("text [[fail prepare=1]]"))


@pytest.mark.parametrize(("kind", "error"), [("raise", ValueError), ("exit", EngineBroken)])
def test_exceptions_can_be_ordered(kind: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        speak(engine(faults=True), tone_job(f"text [[{kind}]]"))


def test_samples_that_are_no_numbers_can_be_ordered() -> None:
    assert np.isnan(speak(engine(faults=True), tone_job("text [[nan]]"), check=False).samples).all()


def test_a_step_can_cost_cpu_time_however_many_segments_are_in_it() -> None:
    made = engine(stepping="batched", step_cost_s=0.05)
    sequences = [made.start(tone_job(request_id=name)) for name in "abc"]
    before = time.thread_time()
    made.step(sequences)
    spent = time.thread_time() - before
    assert 0.05 <= spent < 3 * 0.05


def test_its_hash_tells_what_its_audio_depends_on() -> None:
    assert engine().info.model_hash == engine(stepping="batched", step_cost_s=0.001).info.model_hash
    assert engine().info.model_hash != engine(sample_rate_hz=16000).info.model_hash


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"stepping": "both"}, "one of turns, batched|one of batched, turns"),
        ({"sample_rate_hz": 7999}, "from 8000 to 48000"),
        ({"step_cost_s": -1}, "from 0"),
        ({"faults": 1}, "true or false"),
        ({"colour": "red"}, "has no option 'colour'"),
    ],
)
def test_a_wrong_option_is_refused_with_what_is_allowed(options: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        ToneEngine.check(EngineOptions(None, 1, options))


def test_it_takes_a_models_folder_and_needs_none(tmp_path: Path) -> None:
    ToneEngine.check(EngineOptions(tmp_path, 1, {}))
