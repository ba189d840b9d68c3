"""The pronunciation lexicon: whole words, by language, read again when a file changes, never lost to a bad one."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from tts_service.errors import SettingsError
from tts_service.text.front_end import Reading, check, segments
from tts_service.text.lexicon import Lexicon, check_lexicon, read_entries

ENGLISH = """
[words]
"nginx" = "engine x"
"GIF" = "jif"
"New York" = "the big apple"
"New York City" = "N Y C"
"C++" = "see plus plus"
[phonemes]
"Nguyen" = "ŋwɪən"
"""


def write(folder: Path, name: str, content: str, mtime_ns: int) -> None:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    os.utime(path, ns=(mtime_ns, mtime_ns))


def said(text: str, lexicon: Lexicon, language: str = "en-US", *, raw_phonemes: bool = False) -> str:
    reading = Reading(language, 300, lexicon=lexicon, raw_phonemes=raw_phonemes)
    check(text, reading)
    return " ".join(segment.text for segment in segments(text, reading))


def test_words_are_replaced_whole_and_by_their_case(tmp_path: Path) -> None:
    write(tmp_path, "en.toml", ENGLISH, 1)
    lexicon = Lexicon(tmp_path)
    assert said("Nginx, nginxes and NGINX.", lexicon) == "engine x, nginxes and engine x."
    assert said("a GIF or a gif", lexicon) == "a jif or a gif"
    assert said("New York City, New York", lexicon) == "N Y C, the big apple"
    assert said("I like C++ a lot", lexicon) == "I like see plus plus a lot"


def test_phonemes_are_for_engines_that_take_them(tmp_path: Path) -> None:
    write(tmp_path, "en.toml", ENGLISH, 1)
    assert said("Dr. Nguyen", Lexicon(tmp_path)) == "Doctor Nguyen"
    assert said("Dr. Nguyen", Lexicon(tmp_path), raw_phonemes=True) == "Doctor [[ŋwɪən]]"


def test_a_language_has_its_own_file_and_a_region_comes_first(tmp_path: Path) -> None:
    write(tmp_path, "en.toml", '[words]\n"data" = "dayta"\n"both" = "general"', 1)
    write(tmp_path, "en-GB.toml", '[words]\n"both" = "british"', 1)
    lexicon = Lexicon(tmp_path)
    assert said("data both", lexicon, "en-GB") == "dayta british"
    assert said("data both", lexicon, "en-US") == "dayta general"
    assert said("data both", lexicon, "de") == "data both"


def test_a_changed_file_is_used_by_the_next_request(tmp_path: Path) -> None:
    lexicon = Lexicon(tmp_path)
    assert said("data", lexicon) == "data"
    write(tmp_path, "en.toml", '[words]\n"data" = "dayta"', 1)
    assert said("data", lexicon) == "dayta"
    write(tmp_path, "en.toml", '[words]\n"data" = "dahta"', 2)
    assert said("data", lexicon) == "dahta"
    (tmp_path / "en.toml").unlink()
    assert said("data", lexicon) == "data"


def test_a_bad_file_is_complained_about_once_and_the_old_one_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lexicon = Lexicon(tmp_path)
    write(tmp_path, "en.toml", '[words]\n"data" = "dayta"', 1)
    assert said("data", lexicon) == "dayta"
    write(tmp_path, "en.toml", '[words]\n"data" = 5', 2)
    with caplog.at_level(logging.ERROR):
        assert said("data", lexicon) == "dayta"
        assert said("data", lexicon) == "dayta"
    (record,) = caplog.records
    assert "en.toml: words.data = 5: expected text" in record.getMessage()
    write(tmp_path, "en.toml", '[words]\n"data" = "dahta"', 3)
    assert said("data", lexicon) == "dahta"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[words", "Expected"),
        ("[word]\na = 'b'", "has 'word'"),
        ("words = 1", "words is no table"),
        ("[words]\na = ''", "words.a = ''"),
    ],
)
def test_a_bad_file_says_what_is_wrong(tmp_path: Path, content: str, reason: str) -> None:
    write(tmp_path, "en.toml", content, 1)
    with pytest.raises(ValueError, match=r".") as caught:
        read_entries(tmp_path / "en.toml")
    assert reason in str(caught.value)
    with pytest.raises(SettingsError, match=r"en\.toml: "):
        check_lexicon(tmp_path)


def test_a_service_does_not_start_without_its_lexicon(tmp_path: Path) -> None:
    check_lexicon(tmp_path)
    with pytest.raises(SettingsError, match="there is no such directory"):
        check_lexicon(tmp_path / "none")


def test_a_language_of_a_request_names_no_other_file(tmp_path: Path) -> None:
    write(tmp_path, "en.toml", ENGLISH, 1)
    for language in ("../en", "en/../en", "EN.toml", "x" * 35):
        assert said("nginx", Lexicon(tmp_path / "empty"), language) == "nginx"
