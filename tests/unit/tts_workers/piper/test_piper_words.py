"""Which phonemes are a word's, where espeak runs words together or writes them out, and how long they last."""

from __future__ import annotations

import numpy as np
import pytest

from support.piper_voices import JOE, joe_directory
from tts_service.protocol import Word
from tts_workers.engines.piper.ids import Alphabet
from tts_workers.engines.piper.phonemes import Phonemes, Reader
from tts_workers.engines.piper.voice import read_voice
from tts_workers.engines.piper.words import PAUSE, SPACE, WordFinder, WordTimes, word_spans


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("One, two.", ["One", "two"]),
        ("  (really)  “isn't”\tit - yes…", ["really", "isn't", "it", "yes"]),
        ("Smith & Sons at 5:30 p.m.", ["Smith", "&", "Sons", "at", "5:30", "p.m"]),
        ("$5 is 10%", ["$5", "is", "10%"]),
        ("a[[ b c ]]d [[e]], f", ["a", "[[ b c ]]", "d", "[[e]]", "f"]),
        (" ... ", []),
        ("", []),
    ],
)
def test_words_stand_between_spaces_without_their_punctuation(text: str, words: list[str]) -> None:
    assert [text[start:end] for start, end in word_spans(text)] == words


def owned(text: str) -> list[tuple[str, str]]:
    """Return each word of a text with the phonemes that are its own, by the real espeak."""
    reader = Reader(read_voice(joe_directory() / f"{JOE}.onnx"))
    sentences, spans = reader.sentences(text), word_spans(text)
    owners = WordFinder(reader.sentences).owners(text, spans, sentences)
    assert [len(found) for found in owners] == [len(sentence.symbols) for sentence in sentences]
    sounds = [""] * len(spans)
    for sentence, found in zip(sentences, owners, strict=True):
        for symbol, owner in zip(sentence.symbols, found, strict=True):
            if owner >= 0:
                sounds[owner] += symbol
            else:
                assert owner == (SPACE if symbol == " " else PAUSE)
    return [(text[start:end], sound) for (start, end), sound in zip(spans, sounds, strict=True)]


def test_words_that_espeak_runs_together_have_their_own_phonemes() -> None:
    assert owned("One of the birds in the tree.") == [
        ("One", "wˈʌn"), ("of", "ʌv"), ("the", "ðə"), ("birds", "bˈɜːdz"), ("in", "ɪn"), ("the", "ðə"),
        ("tree", "tɹˈiː")
    ]  # fmt: skip


def test_a_number_has_all_its_words() -> None:
    assert owned("That is 42, or 1,000,000 % of it.") == [
        ("That", "ðæt"), ("is", "ɪz"), ("42", "fˈɔːɹɾitˈuː"), ("or", "ɔːɹ"), ("1,000,000", "wˈʌnmˈɪliən"),
        ("%", "pɚsˈɛnt"), ("of", "ʌv"), ("it", "ɪt")
    ]  # fmt: skip


def test_written_phonemes_are_one_word() -> None:
    assert owned("This is [[ ˈɹɔː ]] text.")[2:] == [("[[ ˈɹɔː ]]", "ˈɹɔː"), ("text", "tˈɛkst")]


def test_sentences_share_one_count_of_words() -> None:
    assert [word for word, sound in owned("Dr. Who! Is it you? Yes.") if sound] == [
        "Dr",
        "Who",
        "Is",
        "it",
        "you",
        "Yes",
    ]


def times(owners: list[int], lengths: list[int], spans: list[tuple[int, int]]) -> tuple[Word, ...]:
    collected = WordTimes(spans)
    collected.add(owners, np.asarray(lengths), 0)
    return collected.words()


def test_a_space_is_shared_by_the_words_around_it_and_a_pause_is_nobodys() -> None:
    spans = [(0, 1), (2, 3), (5, 6)]
    owners = [PAUSE, 0, 0, SPACE, 1, PAUSE, SPACE, 2, PAUSE]
    lengths = [10, 20, 5, 4, 30, 50, 6, 40, 10]
    assert times(owners, lengths, spans) == (Word(0, 1, 10, 37), Word(2, 3, 37, 69), Word(5, 6, 125, 165))


def test_a_word_in_two_parts_lasts_from_the_one_to_the_other() -> None:
    collected = WordTimes([(0, 9)])
    collected.add([PAUSE, 0, PAUSE], np.asarray([1, 8, 1]), 0)
    collected.add([PAUSE, 0, PAUSE], np.asarray([1, 8, 1]), 10)
    assert collected.words() == (Word(0, 9, 1, 19),)


def test_a_word_without_a_sound_is_part_of_the_next_or_of_the_last() -> None:
    spans = [(0, 2), (3, 5), (6, 8), (9, 11)]
    assert times([1, 1], [5, 5], spans) == (Word(0, 11, 0, 10),)
    assert times([0, 3], [5, 5], spans) == (Word(0, 2, 0, 5), Word(3, 11, 5, 10))
    assert times([PAUSE], [5], spans) == ()


def test_a_word_that_cannot_be_read_alone_fails_nothing() -> None:
    def read(word: str) -> list[Phonemes]:
        return [Phonemes(list(word), [False] * len(word))] if word != "xx" else []

    sentence = Phonemes(list("aa bb"), [False] * 5)
    assert WordFinder(read).owners("aa xx bb", [(0, 2), (3, 5), (6, 8)], [sentence]) == [[0, 0, SPACE, 2, 2]]


def test_every_id_of_a_part_has_the_owner_of_its_symbol() -> None:
    voice = read_voice(joe_directory() / f"{JOE}.onnx")
    sentence = Phonemes(list("aː b."), [False] * 5)
    (part,) = Alphabet(voice).owned_parts(sentence, [0, 0, SPACE, 1, PAUSE])
    assert part.ids == Alphabet(voice).parts(sentence)[0]
    # Begin and its padding; each symbol with the padding after it; end.
    assert part.owners == [PAUSE, PAUSE, 0, 0, 0, 0, SPACE, SPACE, 1, 1, PAUSE, PAUSE, PAUSE]
