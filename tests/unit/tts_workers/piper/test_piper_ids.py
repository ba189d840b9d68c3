"""Phonemes become ids as in training; what has no id is refused or reported."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from support.synthetic_vits import SYMBOLS, write_voice
from tts_service.errors import Code, RequestFailed
from tts_workers.engines.piper.ids import MAX_PHONEMES, Alphabet, split
from tts_workers.engines.piper.phonemes import Phonemes


def read(symbols: str, raw: bool = False) -> Phonemes:
    return Phonemes(list(symbols), [raw] * len(symbols))


def number(symbol: str) -> int:
    return SYMBOLS.index(symbol)


def test_every_phoneme_is_followed_by_padding_between_begin_and_end(tmp_path: Path) -> None:
    alphabet = Alphabet(write_voice(tmp_path))
    pad, begin, end = (number(symbol) for symbol in "_^$")
    assert alphabet.parts(read("ab")) == [[begin, pad, number("a"), pad, number("b"), pad, end]]


def test_ids_are_those_of_pipers_own_package(tmp_path: Path) -> None:
    from piper.phoneme_ids import phonemes_to_ids

    voice = write_voice(tmp_path, phoneme_id_map={s: [n, n + 1] for n, s in enumerate(SYMBOLS)})
    assert Alphabet(voice).parts(read("hˈɛloʊ.")) == [phonemes_to_ids(list("hˈɛloʊ."), voice.config.phoneme_id_map)]


@pytest.mark.parametrize("symbols", ["", " ", ".", "ˈ", " ?! "])
def test_a_sentence_without_a_sound_has_no_part(tmp_path: Path, symbols: str) -> None:
    assert Alphabet(write_voice(tmp_path)).parts(read(symbols)) == []


def test_a_sound_without_an_id_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestFailed) as caught:
        Alphabet(write_voice(tmp_path)).parts(read("aʙb"))
    assert (caught.value.code, caught.value.param) == (Code.UNSUPPORTED_TEXT, "input")
    assert "voice made-up cannot speak '\\u0299'" in caught.value.message


def test_a_mark_without_an_id_is_left_out_and_reported_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    alphabet = Alphabet(write_voice(tmp_path))
    with caplog.at_level(logging.WARNING):
        parts = [alphabet.parts(read(symbols)) for symbols in ("aˑb", "aˑˑb", "ab")]
    assert parts[0] == parts[1] == parts[2]
    assert [record.getMessage() for record in caplog.records] == [
        "voice made-up has no id for '\\u02d1', and leaves it out"
    ]


def test_even_a_mark_is_refused_where_the_text_itself_has_it(tmp_path: Path) -> None:
    with pytest.raises(RequestFailed):
        Alphabet(write_voice(tmp_path)).parts(read("aˑb", raw=True))


def test_phonemes_are_spelled_as_the_voice_wants_them(tmp_path: Path) -> None:
    plain = Alphabet(write_voice(tmp_path)).parts(read("tʃ"))
    assert Alphabet(write_voice(tmp_path, phoneme_map={"ʧ": ["t", "ʃ"]})).parts(read("ʧ")) == plain


def test_a_letter_with_an_accent_is_taken_apart_where_the_voice_has_only_its_parts(tmp_path: Path) -> None:
    voice = write_voice(tmp_path, phoneme_id_map={s: [n] for n, s in enumerate([*SYMBOLS[:40], "\u0303"])})
    alphabet = Alphabet(voice)
    assert alphabet.parts(read("ã", raw=True)) == alphabet.parts(read("a\u0303"))


@pytest.mark.parametrize("n", [1, MAX_PHONEMES - 1, MAX_PHONEMES, MAX_PHONEMES + 1, 1000, 2500])
@pytest.mark.parametrize("between", ["", " ", ", "])
def test_long_sentences_are_cut_into_bounded_parts_and_nothing_is_lost(n: int, between: str) -> None:
    symbols = list((f"abc{between}" * n)[:n])
    parts = split(symbols)
    assert [symbol for part in parts for symbol in part] == symbols
    assert all(0 < len(part) <= MAX_PHONEMES for part in parts)
    assert len(parts) <= n // (MAX_PHONEMES - 5) + 1


def test_a_cut_is_made_after_a_clause_rather_than_anywhere() -> None:
    first, second = split(list("ab " * 50 + "cd, " + "ef " * 90))
    assert "".join(first).endswith("cd,")
    assert "".join(second).startswith(" ef")
