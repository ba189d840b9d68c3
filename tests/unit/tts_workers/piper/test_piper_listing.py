"""`tts-service voices` lists a directory, tries every voice, and says what is wrong with which."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.piper_voices import JOE, cache_directory, joe_directory
from support.synthetic_vits import Build, write_voice
from tts_service.cli.main import run
from tts_service.errors import ExitCode


def voices(directory: Path, *flags: str) -> int:
    return run(["voices", str(directory), "--cache", str(cache_directory()), *flags])


def test_voices_are_listed_with_what_they_are_and_how_they_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_voice(tmp_path, "many", Build(n_speakers=3))
    write_voice(tmp_path, "odd", Build(fault="softplus"))
    assert voices(tmp_path) == ExitCode.OK
    assert capsys.readouterr().out.splitlines() == [
        "many: en-GB, 16000 Hz, 3 speakers, text phonemes, runs in windows",
        "odd: en-GB, 16000 Hz, 1 speaker, text phonemes, runs whole, because its deviation is not the exponential of "
        "a logarithm",
    ]


def test_the_real_voice_runs_in_windows(capsys: pytest.CaptureFixture[str]) -> None:
    assert voices(joe_directory()) == ExitCode.OK
    assert capsys.readouterr().out == f"{JOE}: en-US, 22050 Hz, 1 speaker, espeak phonemes, runs in windows\n"


def test_one_voice_that_is_refused_does_not_hide_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_voice(tmp_path, "a-fine")
    write_voice(tmp_path, "b-small", Build(rows=20))
    write_voice(tmp_path, "c-language", phoneme_type="espeak", espeak={"voice": "nonsense"})
    (tmp_path / "d-alone.onnx").touch()
    assert voices(tmp_path) == ExitCode.BAD_INPUT
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("a-fine: en-GB")
    assert "REFUSED: voice b-small: its map gives 'i' the id 20" in lines[1]
    assert "REFUSED: espeak-ng has no voice 'nonsense'" in lines[2]
    assert "REFUSED: voice d-alone: there is no d-alone.onnx.json" in lines[3]


def test_the_list_is_json_where_that_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_voice(tmp_path, "many", Build(n_speakers=2))
    assert voices(tmp_path, "--json") == ExitCode.OK
    (entry,) = json.loads(capsys.readouterr().out)
    assert (entry["id"], entry["n_speakers"], entry["frame_samples"]) == ("many", 2, 64)
    assert set(entry["voices"]) == {"many", "many#ann", "many#bob", "many#0", "many#1"}


def test_a_directory_without_voices_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert voices(tmp_path) == ExitCode.BAD_INPUT
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", f"there is no .onnx file in {tmp_path}\n")


def test_what_is_no_directory_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert voices(tmp_path / "nothing") == ExitCode.USAGE
    assert "is no directory" in capsys.readouterr().err
