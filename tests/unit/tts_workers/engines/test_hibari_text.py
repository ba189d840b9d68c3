"""Text that hibari's own rules trip over or drop, and phonemes cut into parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.properties import property_settings
from tts_workers.engines.hibari import MAX_PHONEMES, split
from tts_workers.engines.hibari_text import digestible, in_pieces


@pytest.mark.parametrize("text", ["", "Hello, world!", "x² and y³", "in 1984", "9" * 36, "1,234,567", "a[b] (c)"])
def test_a_plain_text_stays_as_it_is(text: str) -> None:
    assert digestible(text) == text


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("①②", "12"),
        ("⑴ first", "(1) first"),
        ("İstanbul", "Istanbul"),
        ("[here](http://x)", "[here] (http://x)"),
        ("1" * 37, " ".join("1" * 37)),
        ("a [[təˈmeɪtoʊ]]", "a [x](/təˈmAtO/)"),
        ("[[ˈt͡ʃɜːr.tʃ dʒɔɪ]] [x](y)", "[x](/ˈʧɜɹʧ ʤY/) [x] (y)"),
        ("no " + "12" * 20 + "!", "no " + " ".join("12" * 20) + "!"),
    ],
)
def test_what_hibari_cannot_read_is_written_differently(text: str, spoken: str) -> None:
    assert digestible(text) == spoken


@given(st.text(max_size=200))
@property_settings(200)
def test_no_letter_and_no_digit_is_dropped(text: str) -> None:
    def letters(written: str) -> list[str]:
        return [char for char in written if char.isalpha()]

    assert letters(digestible(text)) == letters(text.replace("İ", "I"))
    n_digits = sum(char.isdecimal() for char in text)
    assert sum(char.isdecimal() for char in digestible(text)) >= n_digits


def test_a_word_longer_than_the_net_takes_is_read_in_pieces() -> None:
    asked: list[str] = []

    def net(word: str) -> str | None:
        asked.append(word)
        return None if word == "??" else word.upper()[:4]

    assert in_pieces(net, "abcdefghij", 4) == "ABCDEFGHIJ"
    assert asked == ["abcd", "efgh", "ij"]
    assert in_pieces(net, "abcd", 4) == "ABCD"
    assert in_pieces(net, "ab??", 2) == "AB"
    assert in_pieces(net, "??", 4) is None


PHONEMES = st.lists(
    st.one_of(
        st.text(alphabet="abcɹˈ", min_size=1, max_size=12),
        st.sampled_from([",", ".", "—", "wˈɜɹd.", "ænd,", "x" * MAX_PHONEMES, "y" * (MAX_PHONEMES + 1)]),
    ),
    max_size=150,
).map(" ".join)


@given(PHONEMES)
@property_settings(150)
def test_parts_hold_all_phonemes_in_order_and_none_is_empty_or_too_long(phonemes: str) -> None:
    parts = split(phonemes)
    assert "".join(parts).replace(" ", "") == phonemes.replace(" ", "")
    assert all(0 < len(part) <= MAX_PHONEMES for part in parts) or phonemes == ""


def test_a_long_text_is_cut_after_clauses_where_that_is_possible() -> None:
    clause = "a" * 150 + ","
    assert split(" ".join([clause] * 5)) == [f"{clause} {clause}", f"{clause} {clause}", clause]


def test_a_clause_too_long_is_cut_at_a_space_and_a_word_too_long_anywhere() -> None:
    words = " ".join(["b" * 99] * 9)
    assert split(words) == [" ".join(["b" * 99] * 4), " ".join(["b" * 99] * 4), "b" * 99]
    assert split("c" * 900) == ["c" * 400, "c" * 400, "c" * 100]
