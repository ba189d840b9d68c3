"""Texts as espeak gets them: plain characters, no word or clause that it would cut short."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tts_service.errors import Code, RequestFailed
from tts_workers.engines.piper.scripts import check_letters, scripts_of
from tts_workers.engines.piper.spoken import LONGEST_SPELLED_WORD, LONGEST_WORD, pieces, plain


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("hello", "hello"),
        ("e\u0301", "é"),
        ("٣ ١٢", "3 12"),
        ("①", "1"),
        ("5 ℃", "5 °C"),
        ("Ａ１", "A1"),
        ("𝐀𝐛", "Ab"),
        ("ﬁne", "fine"),
        ("½ x² № … µ", "½ x² № … µ"),
        ("你好，世界", "你好，世界"),
        ("a\x00b\x07c\td", "a b c d"),
    ],
)
def test_rare_characters_are_written_plainly(written: str, read: str) -> None:
    assert plain(written) == read


def without_spaces(text: str) -> str:
    return "".join(text.split())


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=400))
def test_no_character_is_lost(text: str) -> None:
    assert without_spaces("".join(pieces(text))) == without_spaces(text)


def test_an_ordinary_sentence_is_one_piece() -> None:
    text = "The quick brown fox, number 7, jumps over the lazy dog. " * 8
    assert pieces(text) == [text.strip()]


@pytest.mark.parametrize(
    ("word", "longest"),
    [("9" * 400, LONGEST_SPELLED_WORD), ("W" * 100, LONGEST_SPELLED_WORD), ("ab" * 200, LONGEST_WORD)],
)
def test_a_long_word_is_cut(word: str, longest: int) -> None:
    (text,) = pieces(word[:60]) if word[0] == "W" else (" ".join(pieces(word)),)
    assert all(len(part) <= longest for part in text.split())


def test_a_text_without_spaces_in_a_script_that_has_none_is_left_whole() -> None:
    assert pieces("今天天气很好" * 30) == ["今天天气很好" * 30]


def test_many_numbers_are_read_in_several_pieces() -> None:
    assert len(pieces("9876543 " * 60)) > 4


@pytest.mark.parametrize(
    ("language", "text"),
    [("en-us", "naïve ʻokina θ"), ("ru", "Привет hi"), ("ja", "日本の"), ("zh/cmn", "你好"), ("de", "ß")],
)
def test_letters_of_the_voices_language_are_taken(language: str, text: str) -> None:
    check_letters(text, scripts_of(language), "v")


@pytest.mark.parametrize(("language", "text"), [("en-us", "日"), ("ru", "ש"), ("en", "\uaa81"), ("de", "\ud800")])
def test_letters_of_other_scripts_are_refused(language: str, text: str) -> None:
    with pytest.raises(RequestFailed) as caught:
        check_letters(f"a {text}", scripts_of(language), "v")
    assert (caught.value.code, caught.value.param) == (Code.UNSUPPORTED_TEXT, "input")
