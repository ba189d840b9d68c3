"""A passage knows where its characters are from, whatever was done to it."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from support.properties import property_settings
from tts_service.text.front_end import Reading, segments
from tts_service.text.passage import Passage


def test_words_that_stand_for_others_have_their_place() -> None:
    passage = Passage.of("pay $5 now").sub("money", re.compile(r"\$5"), "five dollars")
    assert passage.text == "pay five dollars now"
    assert passage.source(4, 8) == passage.source(9, 16) == (4, 6)
    assert passage.source(17, 20) == (7, 10)
    assert [(edit.rule, edit.before, edit.after) for edit in passage.edits] == [("money", "$5", "five dollars")]


def test_later_steps_leave_final_words_alone() -> None:
    passage = Passage.of("a b").sub("one", re.compile("a"), "b").sub("two", re.compile("b"), "c")
    assert passage.text == "b c"


@property_settings(200)
@given(
    st.text("ab 12", max_size=30),
    st.lists(st.tuples(st.sampled_from(["a", "1+", r"\s+", "b2"]), st.text("xyz", max_size=3)), max_size=4),
)
def test_places_grow_and_stay_within_the_text(text: str, changes: list[tuple[str, str]]) -> None:
    passage = Passage.of(text)
    for pattern, words in changes:
        passage = passage.sub("rule", re.compile(pattern), words, final=False)
    assert len(passage.starts) == len(passage.ends) == len(passage.fixed) == len(passage.text)
    assert list(passage.starts) == sorted(passage.starts)
    assert all(0 <= start < end <= len(text) for start, end in zip(passage.starts, passage.ends, strict=True))


def test_a_word_of_a_segment_leads_back_to_the_users_text() -> None:
    text = "**Dr. Lee** paid $3.50 at 9:42.\n\nThen he left."
    first, second = segments(text, Reading("en-US", 300))
    for word, written in [("Doctor", "Dr."), ("Lee", "Lee"), ("fifty", "$3.50"), ("forty", "9:42")]:
        at = first.text.index(word)
        assert text[slice(*first.source(at, at + len(word)))] == written
    assert text[second.start : second.end] == "Then he left."
