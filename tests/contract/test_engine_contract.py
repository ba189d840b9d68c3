"""What base.py promises of every engine: its samples depend on the job alone, and bad text is a RequestFailed."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from support.engine_cases import TEXTS, EngineCase, job_for, speak, step_alone
from tts_service.errors import Code, RequestFailed
from tts_workers.engines import Engine
from tts_workers.engines.base import Samples
from tts_workers.warm_up import warm_up

# Roughly: a pause does not get shorter with the speed, and frames are whole.
SPEED_TOLERANCE = 0.2


def audio(engine: Engine, text: str = TEXTS[0], **changes: object) -> bytes:
    """Return the samples of a job as bytes."""
    return speak(engine, job_for(engine, text, **changes)).samples.tobytes()


def loudness(samples: Samples) -> float:
    return float(np.sqrt(np.mean(np.square(samples, dtype=np.float64))))


# What it says of itself


def test_its_description_is_sane(engine: Engine, case: EngineCase) -> None:
    info = engine.info
    assert info.name == case.engine
    assert 8000 <= info.sample_rate_hz <= 48000
    assert len(info.model_hash) >= 16
    assert info.default_voice in {voice.id for voice in info.voices}
    assert len({voice.id for voice in info.voices}) == len(info.voices) > 0
    assert all(voice.id and voice.name and voice.languages for voice in info.voices)
    assert info.max_segment_chars >= 100
    assert info.stepping in ("turns", "batched")
    assert 0 < info.longest_step_s <= 1.0
    assert 0 < info.min_speed < 1.0 < info.max_speed


def test_it_computes_with_what_it_was_given(engine: Engine, case: EngineCase) -> None:
    runtime = engine.runtime()
    assert (runtime.intra_op_threads, runtime.spinning) == (case.n_threads, False)


def test_it_describes_itself_alike_in_another_instance(engine: Engine, another: Engine) -> None:
    assert another.info == engine.info


def test_it_survives_its_warm_up(engine: Engine) -> None:
    pace = warm_up(engine)
    assert pace.n_chars == len(engine.warm_up_text())
    assert pace.audio_s > 0


# Audio


def test_it_says_something_that_can_be_heard(engine: Engine) -> None:
    for text in TEXTS:
        spoken = speak(engine, job_for(engine, text))
        assert len(spoken.samples) > 0.1 * engine.info.sample_rate_hz
        assert loudness(spoken.samples) > 0.01


def test_the_same_job_gives_the_same_bytes_again(engine: Engine) -> None:
    first = [audio(engine, text, seed=3) for text in TEXTS]
    assert [audio(engine, text, seed=3) for text in reversed(TEXTS)] == first[::-1]


def test_the_same_job_gives_the_same_bytes_in_another_instance(engine: Engine, another: Engine) -> None:
    assert audio(another, TEXTS[1], seed=3) == audio(engine, TEXTS[1], seed=3)


def test_every_voice_gives_the_same_bytes_again(engine: Engine) -> None:
    voices = [voice.id for voice in engine.info.voices]
    spoken = [audio(engine, voice=voice) for voice in voices]
    assert [audio(engine, voice=voice) for voice in voices] == spoken
    assert len(set(spoken)) == len(voices)


def test_another_seed_gives_other_samples_of_the_same_text(engine: Engine) -> None:
    spoken = {audio(engine, TEXTS[1], seed=seed) for seed in (0, 1, 2, 2**31, 2**63 - 1)}
    assert len(spoken) == 5


@pytest.mark.parametrize(
    "changes",
    [
        {"request_id": "another", "client": "10.0.0.1"},
        {"segment": 7},
        {"attempt": 3},
        {"deadline_s": 1e9, "arrived_s": 5.0, "give_up_s": 9.0},
        {"credit_bytes": 0},
        {"max_samples": 10**8},
        {"from_sample": 1234},
        {"generation": "abc", "pool": "other"},
    ],
)
def test_what_is_no_part_of_the_speech_does_not_change_it(engine: Engine, changes: dict[str, object]) -> None:
    assert audio(engine, TEXTS[1], seed=5, **changes) == audio(engine, TEXTS[1], seed=5)


def test_the_number_of_steps_depends_on_the_job_alone(engine: Engine) -> None:
    lengths = [speak(engine, job_for(engine, TEXTS[1])).lengths for _ in range(2)]
    assert lengths[0] == lengths[1]
    # So that a cancelled segment can stop on its way.
    assert len(lengths[0]) >= 2


def test_a_faster_speech_is_shorter_and_about_as_much_as_it_is_faster(reader: Engine) -> None:
    low, high = reader.info.min_speed, reader.info.max_speed
    speeds = sorted({low, 0.5, 0.8, 1.0, 1.25, 1.6, 2.0, high})
    lengths = [len(speak(reader, job_for(reader, TEXTS[1], speed=speed)).samples) for speed in speeds]
    assert lengths == sorted(lengths, reverse=True)
    assert len(set(lengths)) == len(lengths)
    usual = lengths[speeds.index(1.0)]
    for speed, length in zip(speeds, lengths, strict=True):
        assert length * speed == pytest.approx(usual, rel=SPEED_TOLERANCE)


def test_a_longer_text_takes_longer(reader: Engine) -> None:
    lengths = [len(speak(reader, job_for(reader, "one two three " * n)).samples) for n in (1, 2, 4, 8)]
    assert lengths == sorted(lengths)
    assert lengths[3] > 4 * lengths[0]


def test_the_longest_text_is_spoken_to_its_end(reader: Engine) -> None:
    longest = ("The quick brown fox jumps over the lazy dog. " * 99)[: reader.info.max_segment_chars - 1] + "."
    half = longest[: len(longest) // 2]
    whole = speak(reader, job_for(reader, longest)).samples
    assert len(whole) == pytest.approx(2 * len(speak(reader, job_for(reader, half)).samples), rel=0.1)
    assert loudness(whole[-2 * reader.info.sample_rate_hz :]) > 0.01


def test_a_word_as_long_as_a_segment_is_not_cut_short(reader: Engine) -> None:
    lengths = [len(speak(reader, job_for(reader, "ab" * (n // 2))).samples) for n in (60, 120, 240)]
    assert lengths[1] > 1.5 * lengths[0]
    assert lengths[2] > 1.5 * lengths[1]


# What it cannot speak


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "   \r\n"])
def test_a_text_with_nothing_in_it_is_refused(engine: Engine, text: str) -> None:
    with pytest.raises(RequestFailed) as caught:
        engine.start(job_for(engine, text))
    assert caught.value.code.status == 400
    assert caught.value.param == "input"


@pytest.mark.parametrize("voice", ["", "nobody", "HEART", "../heart", "hz400 "])
def test_an_unknown_voice_is_refused_and_never_replaced(engine: Engine, voice: str) -> None:
    with pytest.raises(RequestFailed) as caught:
        engine.start(job_for(engine, voice=voice))
    assert (caught.value.code, caught.value.param) == (Code.VOICE_NOT_FOUND, "voice")


ODD_TEXTS = {
    "emoji": "\U0001f600" * 50,
    "emoji among words": "hello \U0001f600 world \U0001f468‍\U0001f469‍\U0001f467",
    "cyrillic": "Привет, мир",
    "cyrillic among words": "hello Привет world",
    "japanese": "日本語のテキスト",
    "arabic": "مرحبا بالعالم ١٢٣",
    "control characters": "\x00\x01\x07\x1b[31m\x7f",
    "control characters among words": "hello\x00 wor\x07ld",
    "surrogate": "\ud800 hello",
    "joiners": "a\u200bb\u200dc\u2060d\ufeffe",
    "right to left": "\u202e abc \u202c",
    "combining": "e\u0301" * 100 + "\u0301" * 100,
    "one letter": "a" * 500,
    "one word": "supercalifragilistic" * 10,
    "digits": "1234567890" * 15,
    "nines": "9" * 37,
    "number with commas": "1," * 60,
    "money": "$" + "9" * 60 + ".99",
    "circled digits": "①②③⑴⑵ ⓪",
    "fractions and powers": "½ ⅓ x² y³ 10⁻⁹",
    "capital dotted i": "xİ İSTANBUL",
    "punctuation": "?!.,;:—…" * 60,
    "dashes": "-" * 500,
    "markup": "<b>bold</b> &amp; <script>alert(1)</script>",
    "markdown link": "see [here](http://example.com/a_b?c=d) **now**",
    "phoneme markup": "[word](/wˈɜɹd/) [x](/фыв/)",
    "json": '{"a": [1, 2, {"b": null}]}',
    "line ends": "one\r\ntwo\n\n\nthree\ttabs",
    "spaces": " " * 400 + "end",
    "faults": "[[crash]] [[raise]] [[hang]]",
}


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS.keys())
def test_an_odd_text_is_spoken_or_refused_and_leaves_nothing_behind(reader: Engine, text: str) -> None:
    before = audio(reader, TEXTS[2], seed=1)
    try:
        assert len(audio(reader, text[: reader.info.max_segment_chars])) > 0
    except RequestFailed as refused:
        assert refused.code.status == 400  # noqa: PT017
    assert audio(reader, TEXTS[2], seed=1) == before


def test_a_segment_that_is_refused_on_the_way_does_not_disturb_one_in_progress(engine: Engine) -> None:
    alone = audio(engine, TEXTS[1], seed=1)
    sequence = engine.start(job_for(engine, TEXTS[1], seed=1))
    parts = [step_alone(engine, sequence).samples]
    for voice, text in (("nobody", "text"), (engine.info.default_voice, "")):
        with pytest.raises(RequestFailed):
            engine.start(job_for(engine, text, voice=voice))
    finished = False
    while not finished:
        output = step_alone(engine, sequence)
        parts.append(output.samples)
        finished = output.finished
    engine.release(sequence)
    assert np.concatenate(parts).tobytes() == alone


# Sequences


def test_a_released_sequence_is_forgotten(engine: Engine) -> None:
    released: list[weakref.ref[object]] = []
    for n_steps in range(3):
        sequence = engine.start(job_for(engine, TEXTS[1] * 3))
        for _ in range(n_steps):
            step_alone(engine, sequence)
        engine.release(sequence)
        released.append(weakref.ref(sequence))
        del sequence
    gc.collect()
    assert [reference() for reference in released] == [None] * 3


def test_a_finished_sequence_is_forgotten(engine: Engine) -> None:
    sequence = engine.start(job_for(engine))
    while not step_alone(engine, sequence).finished:
        pass
    engine.release(sequence)
    reference = weakref.ref(sequence)
    del sequence
    gc.collect()
    assert reference() is None


def test_samples_that_were_handed_out_are_not_changed_by_later_steps(engine: Engine) -> None:
    text = engine.warm_up_text() * 4
    sequence = engine.start(job_for(engine, text[: engine.info.max_segment_chars]))
    kept: list[tuple[Samples, bytes]] = []
    finished = False
    while not finished:
        output = step_alone(engine, sequence)
        kept.append((output.samples, output.samples.tobytes()))
        finished = output.finished
    speak(engine, job_for(engine, TEXTS[1], seed=9))
    engine.release(sequence)
    assert all(samples.tobytes() == then for samples, then in kept)
