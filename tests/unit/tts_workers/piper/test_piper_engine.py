"""The engine as a whole, on made-up voices: speakers, seeds, options, steps, notes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.engine_cases import Spoken, job_for, speak
from support.synthetic_vits import Build, write_voice
from tts_service.errors import Code, EngineBroken, RequestFailed
from tts_workers.engines import EngineOptions
from tts_workers.engines.piper.engine import PiperEngine
from tts_workers.warm_up import warm_up

TEXT = "the quick brown fox, jumps over the lazy dog"


def load(directory: Path, n_threads: int = 1, **options: Any) -> PiperEngine:
    """Return a loaded engine with the voices of a directory."""
    engine = PiperEngine(EngineOptions(directory, n_threads, {"cache": str(directory / "cache"), **options}))
    engine.load()
    return engine


def spoken(engine: PiperEngine, text: str = TEXT, **changes: Any) -> bytes:
    return speak(engine, job_for(engine, text, **changes)).samples.tobytes()


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> PiperEngine:
    """Three voices: one speaker, three speakers, and one that runs whole."""
    directory = tmp_path_factory.mktemp("voices")
    write_voice(directory, "b-many", Build(n_speakers=3), default_speaker_id=1)
    write_voice(directory, "a-one", Build(seed=4))
    write_voice(directory, "c-whole", Build(seed=5, fault="softplus"))
    return load(directory)


def test_it_has_all_voices_and_speakers(engine: PiperEngine) -> None:
    info = engine.info
    assert (info.name, info.sample_rate_hz, info.default_voice, info.thread_invariant) == (
        "piper",
        16000,
        "a-one",
        True,
    )
    assert {voice.id for voice in info.voices} == {
        "a-one", "b-many", "b-many#ann", "b-many#bob", "b-many#7", "b-many#0", "b-many#1", "b-many#2", "c-whole"
    }  # fmt: skip
    assert {tuple(voice.languages) for voice in info.voices} == {("en-GB",)}


def test_a_voice_that_runs_whole_says_so_and_why(engine: PiperEngine) -> None:
    notes = {voice.id: voice.note for voice in engine.info.voices if voice.note}
    assert notes == {"c-whole": "runs whole, without windows: its deviation is not the exponential of a logarithm"}


def test_only_a_voice_that_runs_whole_does_not_say_when_its_words_are(engine: PiperEngine) -> None:
    assert engine.info.word_times
    assert {voice.id for voice in engine.info.voices if not voice.word_times} == {"c-whole"}


def test_speakers_sound_different_and_number_and_name_are_the_same_speaker(engine: PiperEngine) -> None:
    by_voice = {voice.id: spoken(engine, voice=voice.id) for voice in engine.info.voices}
    assert by_voice["b-many#ann"] == by_voice["b-many#0"]
    assert by_voice["b-many#bob"] == by_voice["b-many#1"] == by_voice["b-many"]
    assert by_voice["b-many#7"] == by_voice["b-many#2"]
    assert len({by_voice[name] for name in ("a-one", "b-many#0", "b-many#1", "b-many#2", "c-whole")}) == 5


@pytest.mark.parametrize("voice", ["b-many#3", "b-many#nobody", "b-many#", "a-one#0", "d", "../a-one", "b-many#-1"])
def test_an_unknown_speaker_is_refused(engine: PiperEngine, voice: str) -> None:
    with pytest.raises(RequestFailed) as caught:
        engine.start(job_for(engine, TEXT, voice=voice))
    assert (caught.value.code, caught.value.param) == (Code.VOICE_NOT_FOUND, "voice")


@pytest.mark.parametrize("voice", ["a-one", "b-many#7", "c-whole"])
def test_the_seed_and_nothing_else_is_what_varies(engine: PiperEngine, voice: str) -> None:
    by_seed = [spoken(engine, voice=voice, seed=seed) for seed in (1, 2, 1, 2**63 - 1)]
    assert by_seed[0] == by_seed[2]
    assert len(set(by_seed)) == 3


@pytest.mark.parametrize("voice", ["a-one", "b-many#7"])
def test_streamed_and_buffered_are_the_same_to_the_last_step_of_16_bits(engine: PiperEngine, voice: str) -> None:
    text = f"{TEXT}, {TEXT}, {TEXT}, {TEXT}"
    one, other = (speak(engine, job_for(engine, text, voice=voice, streamed=mode)) for mode in (True, False))
    assert one.lengths != other.lengths
    assert np.abs(np.rint(one.samples * 32767) - np.rint(other.samples * 32767)).max() <= 1


def test_the_first_sound_of_a_stream_leaves_early(engine: PiperEngine) -> None:
    text = f"{TEXT}, {TEXT}, {TEXT}, {TEXT}"
    lengths = [length for length in speak(engine, job_for(engine, text, streamed=True)).lengths if length]
    assert lengths[0] == 64 * 64
    assert sum(lengths) > 10 * lengths[0]


def test_no_step_makes_more_than_its_limit(engine: PiperEngine) -> None:
    lengths = speak(engine, job_for(engine, " ".join([TEXT] * 8), streamed=False)).lengths
    assert max(lengths) <= 256 * 64
    assert len(lengths) > 3


def test_a_voice_that_runs_whole_gets_shorter_parts(engine: PiperEngine) -> None:
    text = " ".join([TEXT] * 6)
    n_parts = -(-len(text) // 120)
    assert len(speak(engine, job_for(engine, text, voice="c-whole")).lengths) >= n_parts
    assert len(speak(engine, job_for(engine, TEXT, voice="c-whole")).lengths) == 1


def test_a_speed_is_what_it_says(engine: PiperEngine) -> None:
    usual = len(spoken(engine))
    for speed in (0.25, 0.5, 1.5, 2.0):
        assert len(spoken(engine, speed=speed)) * speed == pytest.approx(usual, rel=0.01)


def test_a_segment_longer_than_its_job_may_be_is_refused_before_it_is_decoded(engine: PiperEngine) -> None:
    sequence = engine.start(job_for(engine, TEXT, max_samples=5000))
    (output,) = engine.step([sequence])
    assert output.error is not None
    assert output.error.code == Code.AUDIO_TOO_LONG


def test_sentences_of_a_segment_have_noise_of_their_own(tmp_path: Path) -> None:
    write_voice(tmp_path, "v", phoneme_type="espeak")
    engine = load(tmp_path)
    one = speak(engine, job_for(engine, "No. No.", seed=1)).samples
    half = len(speak(engine, job_for(engine, "No.", seed=1)).samples)
    assert not np.array_equal(one[:half], one[half : 2 * half])


@pytest.mark.parametrize("options", [{"noise_scale": 0.1}, {"noise_w": 0.1}, {"length_scale": 1.5}])
def test_options_replace_what_the_voices_config_says(tmp_path: Path, options: dict[str, float]) -> None:
    write_voice(tmp_path, "v")
    usual, changed = load(tmp_path), load(tmp_path, **options)
    assert spoken(usual) != spoken(changed)
    assert usual.info.model_hash != changed.info.model_hash


def test_without_noise_every_seed_sounds_the_same(tmp_path: Path) -> None:
    write_voice(tmp_path, "v")
    engine = load(tmp_path, noise_scale=0, noise_w=0)
    assert spoken(engine, seed=1) == spoken(engine, seed=2)


def test_the_models_hash_is_that_of_files_and_configs(tmp_path: Path) -> None:
    write_voice(tmp_path, "v")
    first = load(tmp_path).info.model_hash
    assert load(tmp_path, n_threads=2).info.model_hash == first
    write_voice(tmp_path, "v", inference={"noise_scale": 0.5})
    second = load(tmp_path).info.model_hash
    write_voice(tmp_path, "v", Build(seed=1))
    assert len({first, second, load(tmp_path).info.model_hash}) == 3


def test_bits_do_not_depend_on_the_number_of_threads(tmp_path: Path) -> None:
    write_voice(tmp_path, "v", Build(n_speakers=2))
    assert len({spoken(load(tmp_path, n_threads=n), voice="v#bob") for n in (1, 2, 3)}) == 1


def test_every_model_is_warmed_up_once_whatever_its_alphabet(tmp_path: Path) -> None:
    write_voice(tmp_path, "many", Build(n_speakers=3))
    cyrillic = {"_": [0], "^": [1], "$": [2]} | {chr(0x430 + n): [3 + n] for n in range(32)}
    write_voice(tmp_path, "russian", phoneme_id_map=cyrillic)
    engine = load(tmp_path)
    assert engine.warm_up_voices() == ["many", "russian"]
    assert warm_up(engine).audio_s > 0


def test_a_letter_that_a_text_voice_has_no_id_for_is_refused(engine: PiperEngine) -> None:
    with pytest.raises(RequestFailed) as caught:
        engine.start(job_for(engine, "straße"))
    assert caught.value.code == Code.UNSUPPORTED_TEXT


def test_a_voice_that_cannot_be_cut_or_run_ends_the_load_with_its_name(tmp_path: Path) -> None:
    write_voice(tmp_path, "good")
    write_voice(tmp_path, "bad", Build(fault="uniform"))
    with pytest.raises(EngineBroken, match="voice bad: it draws random numbers by RandomUniformLike"):
        load(tmp_path)


def biggest_jump(samples: np.ndarray[Any, Any], places: list[int]) -> float:
    return float(np.abs(np.diff(samples))[places].max())


def test_there_is_no_click_where_windows_meet(engine: PiperEngine) -> None:
    made: Spoken = speak(engine, job_for(engine, " ".join([TEXT] * 6), streamed=True))
    seams = [int(end) - 1 for end in np.cumsum(made.lengths)[:-1] if 0 < end < len(made.samples)]
    tiles = list(range(64 * 64 - 1, len(made.samples) - 1, 64 * 64))
    assert len(tiles) > 10
    elsewhere = sorted(set(range(len(made.samples) - 1)) - set(seams) - set(tiles))
    assert biggest_jump(made.samples, seams + tiles) <= biggest_jump(made.samples, elsewhere)
