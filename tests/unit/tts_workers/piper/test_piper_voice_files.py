"""What a voice's two files may say, and what is refused with which reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.piper_voices import JOE, joe_directory
from support.synthetic_vits import Build, write_voice
from tts_service.errors import EngineBroken, SettingsError
from tts_workers.engines import EngineOptions
from tts_workers.engines.piper.engine import PiperEngine, read_voices
from tts_workers.engines.piper.voice import find_models, read_voice


def test_the_real_voice_is_read() -> None:
    voice = read_voice(joe_directory() / f"{JOE}.onnx")
    assert (voice.id, voice.language, voice.phoneme_type) == (JOE, "en-US", "espeak")
    assert voice.config.audio.sample_rate == 22050
    assert voice.speakers() == {JOE: 0}


def test_models_are_the_onnx_files_of_a_directory_by_name(tmp_path: Path) -> None:
    for name in ("b.onnx", "a.onnx", "a.onnx.json", "notes.txt"):
        (tmp_path / name).touch()
    assert [path.name for path in find_models(tmp_path)] == ["a.onnx", "b.onnx"]


def test_a_voice_has_an_id_for_each_speaker_by_name_and_by_number(tmp_path: Path) -> None:
    voice = write_voice(tmp_path, "many", Build(n_speakers=2), default_speaker_id=1)
    assert voice.speakers() == {"many": 1, "many#ann": 0, "many#0": 0, "many#bob": 1, "many#1": 1}


def test_a_speaker_who_is_called_by_a_number_comes_before_that_number(tmp_path: Path) -> None:
    voice = write_voice(tmp_path, "many", Build(n_speakers=3), speaker_id_map={"2": 0, "x": 1, "y": 2})
    assert voice.speakers()["many#2"] == 0
    assert voice.speakers()["many#1"] == 1


def test_a_voice_without_a_language_code_has_the_language_of_its_phonemes(tmp_path: Path) -> None:
    assert write_voice(tmp_path, language={}, espeak={"voice": "pt-br"}).language == "pt-br"


def refusal(directory: Path) -> str:
    with pytest.raises(EngineBroken) as caught:
        read_voices(directory)
    return str(caught.value)


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"phoneme_type": "pinyin"}, 'phoneme_type is "pinyin"; espeak and text are supported'),
        ({"phoneme_id_map": {"_": [0], "$": [1], "a": [2]}}, "phoneme_id_map has no ^"),
        ({"phoneme_id_map": {"_": [], "$": [1], "^": [2]}}, "phoneme_id_map"),
        ({"phoneme_id_map": {"_": [-1], "$": [1], "^": [2]}}, "phoneme_id_map"),
        ({"phoneme_type": "espeak", "espeak": {}}, "espeak.voice is ''"),
        ({"phoneme_type": "espeak", "espeak": {"voice": "../etc"}}, "espeak.voice is '../etc'"),
        ({"audio": {"sample_rate": 0}}, "sample_rate"),
        ({"audio": {}}, "sample_rate"),
        ({"num_speakers": 0}, "num_speakers"),
        ({"num_speakers": 2, "speaker_id_map": {"a": 2}}, "speaker 'a' has number 2, but there are 2 speakers"),
        ({"num_speakers": 2, "default_speaker_id": 2}, "default_speaker_id is 2"),
        ({"inference": {"length_scale": 0}}, "length_scale"),
        ({"inference": {"noise_scale": "much"}}, "noise_scale"),
    ],
    ids=str,
)
def test_a_config_that_is_not_understood_is_refused_with_the_reason(
    tmp_path: Path, config: dict[str, Any], reason: str
) -> None:
    write_voice(tmp_path, "fine")
    entries = json.loads((tmp_path / "fine.onnx.json").read_text())
    (tmp_path / "fine.onnx.json").write_text(json.dumps(entries | config))
    message = refusal(tmp_path)
    assert message.startswith("voice fine: fine.onnx.json")
    assert reason in message


def test_a_model_without_a_config_is_refused(tmp_path: Path) -> None:
    (tmp_path / "alone.onnx").touch()
    assert refusal(tmp_path) == f"voice alone: there is no alone.onnx.json beside {tmp_path / 'alone.onnx'}"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"null"])
def test_a_config_that_is_no_json_object_is_refused(tmp_path: Path, content: bytes) -> None:
    write_voice(tmp_path, "fine")
    (tmp_path / "fine.onnx.json").write_bytes(content)
    assert "fine.onnx.json is no config of a Piper voice" in refusal(tmp_path)


def test_a_directory_without_a_voice_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path) == f"there is no .onnx file in {tmp_path}"


def test_voices_of_different_rates_are_refused_in_one_pool(tmp_path: Path) -> None:
    write_voice(tmp_path, "low")
    write_voice(tmp_path, "high", audio={"sample_rate": 22050})
    assert "16000 Hz (low), 22050 Hz (high); give each rate its own pool" in refusal(tmp_path)


# What the settings may say


def test_settings_are_checked_without_loading_anything(tmp_path: Path) -> None:
    write_voice(tmp_path, "fine")
    (tmp_path / "fine.onnx").write_bytes(b"no model")
    PiperEngine.check(EngineOptions(tmp_path, 1, {"noise_scale": 0.3, "noise_w": 0, "length_scale": 1.1}))


@pytest.mark.parametrize(
    ("models", "options", "reason"),
    [
        (False, {}, "set `models`"),
        (True, {"noise_scale": 3}, "option noise_scale = 3: expected a number from 0 to 2"),
        (True, {"length_scale": 0}, "option length_scale = 0: expected a number above 0 to 10"),
        (True, {"speaker": "x"}, "has no option 'speaker'; it has: noise_scale, noise_w, length_scale, cache"),
    ],
)
def test_wrong_settings_are_refused(tmp_path: Path, models: bool, options: dict[str, Any], reason: str) -> None:
    write_voice(tmp_path, "fine")
    with pytest.raises(SettingsError) as caught:
        PiperEngine.check(EngineOptions(tmp_path if models else None, 1, options))
    assert reason in str(caught.value)


def test_a_wrong_voice_is_a_wrong_setting(tmp_path: Path) -> None:
    write_voice(tmp_path, "fine")
    (tmp_path / "fine.onnx.json").unlink()
    with pytest.raises(SettingsError, match="voice fine"):
        PiperEngine.check(EngineOptions(tmp_path, 1))


def test_without_its_extra_the_engine_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tts_workers.engines.piper.engine.find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=r"needs onnx, piper-tts, rapidfuzz: pip install 'tts-service\[piper\]'"):
        PiperEngine.check(EngineOptions(tmp_path, 1))
