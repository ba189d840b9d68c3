"""Phonemes of real espeak: what Piper's own package gives, whatever was read before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.properties import property_settings
from support.synthetic_vits import write_voice
from tts_service.errors import Code, EngineBroken, RequestFailed
from tts_workers.engines.piper.phonemes import Reader, espeak
from tts_workers.engines.piper.voice import VoiceFile

TEXT = "A, B, C, D, E."


def reader(directory: Path, language: str = "en-us", **config: Any) -> Reader:
    """Return a reader of a voice of that language."""
    made = Reader(voice_of(directory, language, **config))
    made.load()
    return made


def voice_of(directory: Path, language: str = "en-us", **config: Any) -> VoiceFile:
    return write_voice(directory, language, phoneme_type="espeak", espeak={"voice": language}, **config)


def heard(made: Reader, text: str) -> str:
    """Return the phonemes of a text, sentences with | between them."""
    return "|".join("".join(sentence.symbols) for sentence in made.sentences(text))


def test_there_is_one_espeak_in_a_process() -> None:
    assert espeak() is espeak()


def test_sentences_are_those_of_pipers_own_phonemizer(tmp_path: Path) -> None:
    from piper.phonemize_espeak import EspeakPhonemizer

    text = "The quick brown fox; lives 3.5 miles away (truly)! Isn't it?"
    expected = EspeakPhonemizer().phonemize("en-us", text)
    assert [sentence.symbols for sentence in reader(tmp_path).sentences(text)] == expected


@pytest.mark.parametrize(
    ("text", "phonemes"),
    [
        ("[[ ˈɹɔː ]]", "ˈɹɔː"),
        ("hi [[ ˈɹɔː ]] there", "hˈaɪ ˈɹɔː ðˈɛɹ"),
        ("hi[[ɹ]]there", "hˈaɪɹðˈɛɹ"),
        ("Hi. [[ɹ]] [[θ]]", "hˈaɪ. ɹ  θ"),
        ("[[ɹ]]", "ɹ"),
        ("[[ɹ", "ɹˈiːvɚɹ"),
    ],
)
def test_phonemes_in_double_brackets_are_taken_as_they_stand(tmp_path: Path, text: str, phonemes: str) -> None:
    found = heard(reader(tmp_path), text)
    if text == "[[ɹ":
        assert found != "ɹ"
    else:
        assert found == phonemes


def test_voices_take_turns_in_different_languages(tmp_path: Path) -> None:
    languages = ("en-us", "de", "fr")
    readers = {language: reader(tmp_path, language) for language in languages}
    alone = {language: heard(made, "Hello rendezvous kurz") for language, made in readers.items()}
    assert len(set(alone.values())) == 3
    for language in ("de", "en-us", "fr", "en-us", "de"):
        assert heard(readers[language], "Hello rendezvous kurz") == alone[language]


@pytest.mark.parametrize("char", ["\uaa81", "\U0010ffff", "\ufdd0", "ന", "日", "\x00", "\ud800", "\u202e", "🎉"])
def test_a_rare_character_leaves_nothing_behind(tmp_path: Path, char: str) -> None:
    made = reader(tmp_path)
    before = heard(made, TEXT)
    try:
        made.sentences(char)
    except RequestFailed as refused:
        assert refused.code == Code.UNSUPPORTED_TEXT  # noqa: PT017
    # Past the checks, too: straight into espeak.
    if char not in ("\x00", "\ud800"):
        espeak().sentences("en-us", char, set())
    assert heard(made, TEXT) == before


def test_whatever_was_read_before_a_text_is_read_alike(tmp_path: Path) -> None:
    made = reader(tmp_path)
    before = heard(made, TEXT)

    @property_settings(60)
    @given(st.text(st.characters(exclude_categories=["Cs"]), max_size=80))
    def whatever(text: str) -> None:
        try:
            made.sentences(text)
        except RequestFailed as refused:
            assert refused.code == Code.UNSUPPORTED_TEXT  # noqa: PT017
        assert heard(made, TEXT) == before

    whatever()


@pytest.mark.parametrize("n", [20, 60, 400])
def test_every_digit_of_a_long_number_is_read(tmp_path: Path, n: int) -> None:
    assert heard(reader(tmp_path), "9" * n).replace("ˈ", "").replace("ˌ", "").count("naɪn") == n


def test_every_number_of_a_long_clause_is_read(tmp_path: Path) -> None:
    made = reader(tmp_path, "de")
    assert heard(made, "9876543 " * 60).count("mɪlj") == 60


def test_a_letter_that_espeak_is_silent_about_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestFailed) as caught:
        reader(tmp_path).sentences("hello \ua7f7")
    assert "LATIN EPIGRAPHIC LETTER SIDEWAYS I" in caught.value.message
    assert caught.value.code == Code.UNSUPPORTED_TEXT


def test_a_language_that_espeak_does_not_have_is_refused_at_load(tmp_path: Path) -> None:
    with pytest.raises(EngineBroken, match="espeak-ng has no voice 'nonsense'"):
        reader(tmp_path, "nonsense")
    assert heard(reader(tmp_path), "hi") == "hˈaɪ"


def test_clusters_of_vowels_are_one_symbol(tmp_path: Path) -> None:
    (sentence,) = reader(tmp_path, vowel_clusters=[["a", "ɪ"]]).sentences("hi")
    assert sentence.symbols == ["h", "ˈ", "aɪ"]


def test_the_text_of_a_text_voice_is_its_phonemes(tmp_path: Path) -> None:
    (sentence,) = Reader(write_voice(tmp_path)).sentences("Hé [[x]]")
    assert sentence.symbols == list("He\u0301 [[x]]")
