"""Text cut into segments: nothing lost, nothing too long, nothing silent."""

from __future__ import annotations

import itertools
import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.properties import property_settings
from tts_service.errors import Code, RequestFailed
from tts_service.text.front_end import ALL_STEPS, Reading, segments
from tts_service.text.reading import WINDOW
from tts_service.text.scripts import check_scripts, is_speakable
from tts_service.text.segment import SegmentText

AS_WRITTEN = frozenset[str]()


def cut(text: str, max_chars: int = 300, language: str = "en") -> list[str]:
    """Return the segments of a text that is spoken as it is written."""
    return [segment.text for segment in segments(text, Reading(language, max_chars, AS_WRITTEN))]


def spoken(text: str) -> str:
    """Return the characters that must not be lost."""
    return "".join(char for char in text if is_speakable(char))


def uncovered(text: str, found: list[SegmentText]) -> list[int]:
    """Return the characters of a text that no segment speaks, and of which no rule says why."""
    covered = bytearray(len(text))
    for segment in found:
        assert segment.passage is not None
        for start, end in zip(segment.passage.starts, segment.passage.ends, strict=True):
            covered[start:end] = b"\1" * (end - start)
        for edit in segment.edits:
            covered[edit.start : edit.end] = b"\1" * (edit.end - edit.start)
    return [place for place, char in enumerate(text) if not covered[place] and not char.isspace()]


CHARACTERS = st.one_of(
    st.characters(exclude_categories=["Cs"]),
    st.sampled_from("ab19 .,;:!?\"'()[]—–-…$%&\r\n\t\u2028\u00a0\u200b🙂é"),
)
RUNS = st.builds(operator.mul, CHARACTERS, st.integers(1, 70))
ANY_TEXT = st.lists(st.one_of(st.text(CHARACTERS, max_size=40), RUNS), max_size=6).map("".join)


@property_settings(500)
@given(ANY_TEXT, st.integers(20, 60), st.sampled_from(["en", "de-AT", "ja", "xx", "", "🙂"]))
def test_any_text_is_kept_in_order_in_segments_that_fit_and_can_be_spoken(
    text: str, max_chars: int, language: str
) -> None:
    pieces = cut(text, max_chars, language)
    expected = spoken("".join(segment.text for segment in segments(text, Reading(language, 10**6, AS_WRITTEN))))
    assert spoken("".join(pieces)) == expected
    for piece in pieces:
        assert 0 < len(piece) <= max_chars
        assert is_speakable(piece)
        assert piece == piece.strip()


@property_settings(300)
@given(ANY_TEXT, st.integers(20, 60), st.sampled_from(["en-US", "en-GB", "de", "fr", "es", "it", "nl", "ja", "xx"]))
def test_any_text_is_covered_in_order_but_for_what_a_rule_names(text: str, max_chars: int, language: str) -> None:
    for steps in (ALL_STEPS, AS_WRITTEN):
        found = list(segments(text, Reading(language, max_chars, steps)))
        if found:
            assert uncovered(text, found) == []
        places = [(segment.start, segment.end) for segment in found]
        assert places == sorted(places)
        assert all(0 <= start < end <= len(text) for start, end in places)
        assert all(0 < len(segment.text) <= max_chars and is_speakable(segment.text) for segment in found)


@property_settings(100)
@given(ANY_TEXT)
def test_the_same_text_is_cut_the_same_way_again(text: str) -> None:
    assert cut(text, 40) == cut(text, 40)


@property_settings(200)
@given(st.lists(st.sampled_from(["One two.", "three,", "4:30", "(five)", "🙂", "Dr. Six", ""]), max_size=12))
def test_windows_line_ends_are_line_ends(lines: list[str]) -> None:
    expected = cut("\n".join(lines))
    assert cut("\r\n".join(lines)) == expected
    assert cut("\r".join(lines)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It was 98.6 degrees. Then it fell.", ["It was 98.6 degrees.", "Then it fell."]),
        ("Dr. Smith met Mr. Jones.", ["Dr. Smith met Mr. Jones."]),
        ("The U.S. economy grew. He left.", ["The U.S. economy grew.", "He left."]),
        ("See example.com for more. It is free.", ["See example.com for more.", "It is free."]),
        ("Come at 9:42. Not later!", ["Come at 9:42.", "Not later!"]),
        ('He said "Hello." She left.', ['He said "Hello."', "She left."]),
        ("“Quoted!” said he. “Again?”", ["“Quoted!” said he.", "“Again?”"]),
        ("One line\nand another\n\n\nand a third", ["One line", "and another", "and a third"]),
        ("Well… yes", ["Well… yes"]),
        ("No end", ["No end"]),
        ("你好。世界！", ["你好。", "世界！"]),
        ("  Blanks all around.  ", ["Blanks all around."]),
    ],
)
def test_a_text_is_cut_where_a_reader_would_pause(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


@pytest.mark.parametrize("text", ["", " ", "\n\r\n", "...", "🙂", "🙂 🙂!", '"', "—", "\u200b\u00ad", "?!" * 400])
def test_a_text_without_anything_to_speak_has_no_segments(text: str) -> None:
    assert cut(text) == []


def test_a_piece_without_anything_to_speak_is_left_out_by_name() -> None:
    found = list(segments("Hello!\n🙂\n...\nBye.", Reading("en", 300, AS_WRITTEN)))
    assert [segment.text for segment in found] == ["Hello!", "Bye."]
    assert [(edit.rule, edit.before) for edit in found[1].edits] == [("silent", "🙂"), ("silent", "...")]
    assert cut("🙂\nHello!") == ["Hello!"]


@pytest.mark.parametrize("symbol", list("&@%+="))
def test_a_symbol_that_is_read_aloud_is_something_to_speak(symbol: str) -> None:
    assert cut(symbol) == [symbol]


def test_txt_01_six_hundred_words_without_punctuation_are_cut_at_spaces_into_full_segments() -> None:
    text = " ".join(f"word{number}" for number in range(600))
    pieces = cut(text, 300)
    assert " ".join(pieces) == text
    assert all(len(piece) <= 300 for piece in pieces)
    short = [len(piece) + 1 + len(after.split()[0]) <= 300 for piece, after in itertools.pairwise(pieces)]
    # What is looked at in one go is bounded, so that there is one at each window's end.
    assert sum(short) <= len(text) // WINDOW


def test_a_word_longer_than_a_segment_is_cut_inside() -> None:
    pieces = cut("a" * 750, 300)
    assert [len(piece) for piece in pieces] == [300, 300, 150]


def test_a_long_sentence_is_cut_at_the_ends_of_clauses() -> None:
    text = "When the rain had stopped, we went outside; the sun (which had been away) was back: all was well."
    assert cut(text, 50) == [
        "When the rain had stopped, we went outside;",
        "the sun (which had been away) was back:",
        "all was well.",
    ]


def test_a_sentence_of_just_the_limit_is_one_segment_and_one_more_character_makes_two() -> None:
    words = "aaaa " * 11 + "aaaa"
    assert len(words) == 59
    assert cut(words + ".", 60) == [words + "."]
    assert cut(words, 60) == [words]
    assert [len(piece) for piece in cut(words + "a.", 60)] == [54, 6]


def test_a_long_run_of_marks_after_a_word_makes_no_silent_segment() -> None:
    assert all(is_speakable(piece) for piece in cut("Hello" + "!" * 500 + " again", 50))


def test_segments_are_made_as_they_are_asked_for() -> None:
    # A book: its first segments must not wait for the last.
    lines = segments("One sentence here.\n" * 100_000, Reading("en", 300))
    assert [segment.text for segment in itertools.islice(lines, 3)] == ["One sentence here."] * 3


@pytest.mark.parametrize("text", ["Hello, world.", "Grüße aus Köln", "naïve café", "ﬁne", "100 € — 🙂 “yes”", "x²", ""])
def test_letters_of_the_scripts_of_a_voice_are_let_through(text: str) -> None:
    check_scripts(text, ["LATIN"], "anna")


@pytest.mark.parametrize(
    ("text", "shown", "position"),
    [("Hello Привет", "\\u041f", 6), ("日本", "\\u65e5", 0), ("a µ", "\\xb5", 2), ("שלום", "\\u05e9", 0)],
)
def test_a_letter_of_another_script_is_refused_with_its_place(text: str, shown: str, position: int) -> None:
    with pytest.raises(RequestFailed) as caught:
        check_scripts(text, ["LATIN"], "anna")
    error = caught.value
    assert (error.code, error.param, error.code.status) == (Code.UNSUPPORTED_TEXT, "input", 400)
    assert shown in error.message
    assert f"at character {position}" in error.message
    assert "voice anna speaks Latin letters only" in error.message


def test_a_voice_may_know_several_scripts_or_all() -> None:
    check_scripts("Hello Привет µ", ["LATIN", "CYRILLIC", "GREEK"], "anna")
    check_scripts("日本 שלום", [], "anna")
    with pytest.raises(RequestFailed, match="Latin and Cyrillic letters only"):
        check_scripts("日本", ["LATIN", "CYRILLIC"], "anna")
