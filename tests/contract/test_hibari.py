"""What only the hibari engine promises: its own sessions with our options, and no voice that is not in the package."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.engine_cases import CASES, TEXTS, job_for, speak
from tts_service.errors import Code, RequestFailed
from tts_workers.engines.hibari import MAX_PHONEMES, HibariEngine


def load(n_threads: int) -> HibariEngine:
    engine = CASES[f"hibari-{n_threads}"].loaded()
    assert isinstance(engine, HibariEngine)
    return engine


@pytest.fixture(scope="module")
def engine() -> HibariEngine:
    return load(1)


def options_of(session: Any) -> dict[str, Any]:
    options = session.get_session_options()
    return {
        "intra": options.intra_op_num_threads,
        "inter": options.inter_op_num_threads,
        "mode": options.execution_mode.name,
        "intra spins": options.get_session_config_entry("session.intra_op.allow_spinning"),
        "inter spins": options.get_session_config_entry("session.inter_op.allow_spinning"),
        "providers": session.get_providers(),
    }


@pytest.mark.parametrize("n_threads", [1, 2])
def test_its_sessions_have_the_threads_they_were_given_and_do_not_spin(n_threads: int) -> None:
    (session,) = load(n_threads)._sessions.values()
    assert options_of(session) == {
        "intra": n_threads,
        "inter": 1,
        "mode": "ORT_SEQUENTIAL",
        "intra spins": "0",
        "inter spins": "0",
        "providers": ["CPUExecutionProvider"],
    }


def test_only_the_voice_in_the_package_is_offered(engine: HibariEngine) -> None:
    assert [(voice.id, voice.languages) for voice in engine.info.voices] == [("heart", ["en-US"])]


def test_voices_that_would_have_to_be_downloaded_are_refused(engine: HibariEngine, monkeypatch: Any) -> None:
    from hibari import voices

    def fetch(*arguments: object) -> None:
        raise AssertionError("a download was tried")

    monkeypatch.setattr(voices, "download", fetch)
    others = [name for name, voice in voices.VOICES.items() if not voice.get("bundled")]
    assert others
    for name in others:
        with pytest.raises(RequestFailed) as caught:
            engine.start(job_for(engine, voice=name))
        assert caught.value.code == Code.VOICE_NOT_FOUND


def test_phonemes_are_spoken_as_they_are_written(engine: HibariEngine) -> None:
    written = speak(engine, job_for(engine, "I said [[təˈmɑːtoʊ]] today."))
    assert engine._phonemes(job_for(engine, "I said [[təˈmɑːtoʊ]] today.")).split()[2] == "təˈmɑtO"
    assert sum(written.lengths) > 0
    with pytest.raises(RequestFailed, match=r"no sound for 'ʘ' in \[\[ \]\]") as caught:
        engine.start(job_for(engine, "[[ʘa]]"))
    assert caught.value.code == Code.UNSUPPORTED_TEXT


def test_a_part_takes_two_steps_and_is_bounded(engine: HibariEngine) -> None:
    text = ("The quick brown fox jumps over the lazy dog, " * 20)[: engine.info.max_segment_chars]
    sequence = engine.start(job_for(engine, text))
    assert len(sequence.parts) >= 2
    assert all(len(part) <= MAX_PHONEMES + 2 for part in sequence.parts)
    assert len(speak(engine, job_for(engine, text)).lengths) == 2 * len(sequence.parts)


def test_every_part_of_a_text_has_noise_of_its_own(engine: HibariEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    draws: list[float] = []

    def synth(*arguments: Any) -> Any:
        draws.append(arguments[-1].standard_normal())
        return np.zeros(300, np.float32)

    monkeypatch.setattr(engine._dsp, "synth", synth)
    text = ("Again and again, " * 40)[: engine.info.max_segment_chars]
    for seed in (0, 1, 0):
        speak(engine, job_for(engine, text, seed=seed))
    n_parts = len(draws) // 3
    assert n_parts >= 2
    assert len(set(draws[: 2 * n_parts])) == 2 * n_parts
    assert draws[2 * n_parts :] == draws[:n_parts]


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("[here](http://example.com)", "[here] (http://example.com)"),
        ("chapter ⑴", "chapter (1)"),
        ("1" * 40, " ".join("1" * 40)),
    ],
)
def test_markup_and_odd_digits_are_spoken_as_they_are_read(engine: HibariEngine, written: str, spoken: str) -> None:
    one, other = (speak(engine, job_for(engine, text)).samples.tobytes() for text in (written, spoken))
    assert one == other


def test_samples_leave_room(engine: HibariEngine) -> None:
    loudest = max(np.abs(speak(engine, job_for(engine, text)).samples).max() for text in TEXTS)
    assert 0.1 < loudest < 0.9
