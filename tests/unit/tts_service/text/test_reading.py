"""Lines, paragraphs, pauses and Markdown's marks: what is said of them, and how long the silence after it is."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import sentencex

from tts_service.errors import RequestFailed
from tts_service.text.front_end import ALL_STEPS, Reading, check, segments
from tts_service.text.reading import WINDOW
from tts_service.text.segment import Pauses

PAUSES = Pauses(sentence_s=0.1, line_s=0.2, paragraph_s=0.5)


def read(text: str, steps: frozenset[str] = ALL_STEPS) -> list[tuple[str, float]]:
    found = segments(text, Reading("en-US", 300, steps, pauses=PAUSES))
    return [(segment.text, segment.pause_after_s) for segment in found]


def said(text: str) -> list[str]:
    return [text for text, _ in read(text)]


def test_silence_depends_on_what_ends() -> None:
    text = "One. Two.\nThree\n\nFour"
    assert read(text) == [("One.", 0.1), ("Two.", 0.2), ("Three", 0.5), ("Four", 0.0)]
    assert read(text.replace("\n", "\r\n")) == read(text)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_txt_11_list_lines_without_full_stops_are_set_apart(line_end: str) -> None:
    lines = line_end.join(["Bring:", "Bread", "Butter", "Jam"])
    assert read(lines) == [("Bring:", 0.2), ("Bread", 0.2), ("Butter", 0.2), ("Jam", 0.0)]
    assert read(f"Chapter One{line_end}{line_end}It was late") == [("Chapter One", 0.5), ("It was late", 0.0)]
    assert read(f"trailing newline{line_end}") == [("trailing newline", 0.0)]
    assert read(line_end * 3) == []


def test_the_default_pause_of_a_line_is_at_least_that_of_a_comma() -> None:
    assert Pauses().paragraph_s >= Pauses().line_s >= 0.08


def test_lines_that_an_editor_broke_are_one() -> None:
    text = (
        "It was a dark and stormy night; the rain fell in torrents, except\n"
        "at occasional intervals, when it was checked by a violent gust of\n"
        "Wind which swept up the streets.\n"
        "And then it was over."
    )
    assert read(text) == [
        (
            "It was a dark and stormy night; the rain fell in torrents, except at occasional intervals, when it was "
            "checked by a violent gust of Wind which swept up the streets.",
            0.2,
        ),
        ("And then it was over.", 0.0),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Wait[pause:1s] for it.", [("Wait", 1.0), ("for it.", 0.0)]),
        ("Wait. [pause: 250 ms] Now.", [("Wait.", 0.25), ("Now.", 0.0)]),
        ("One\n[pause]\nTwo", [("One", 0.7), ("Two", 0.0)]),
        ("One [pause:1s][pause:1s] Two", [("One", 2.0), ("Two", 0.0)]),
        ("The end. [pause:2s]", [("The end.", 2.0)]),
        ("[pause:banana] is text", [("[pause:banana] is text", 0.0)]),
    ],
)
def test_a_text_can_ask_for_pauses(text: str, expected: list[tuple[str, float]]) -> None:
    found = read(text, frozenset())
    assert [text for text, _ in found] == [text for text, _ in expected]
    assert [pause for _, pause in found] == pytest.approx([pause for _, pause in expected])


def test_a_pause_before_the_first_word_is_kept() -> None:
    (first,) = segments("[pause:1.5s] Hello.", Reading("en", 300))
    assert (first.text, first.pause_before_s) == ("Hello.", 1.5)


def test_a_pause_longer_than_there_is_is_refused_with_its_place() -> None:
    with pytest.raises(RequestFailed, match=r"\[pause:31s\] at character 3: a pause is at most 30 s"):
        check("Hi [pause:31s]", Reading("en", 300))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Title #\nText", ["Title", "Text"]),
        ("**bold** and *it* and ***both*** and __u__", ["bold and it and both and u"]),
        ("- one\n* two\n+ three\n• four", ["one", "two", "three", "four"]),
        ("1. one\n2) two", ["one, one", "two, two"]),
        ("- [x] done\n- [ ] open", ["done", "open"]),
        ("A [link](http://x.com/y) and ![a picture](p.png).", ["A link and a picture."]),
        ("Run `ls` now", ["Run ls now"]),
        ("```sh\nls\n```\nDone", ["ls", "Done"]),
        ("> quoted\n> twice", ["quoted", "twice"]),
        ("| a | b |\n|---|:-:|\n| c | d |", ["a, b", "c, d"]),
        ("above\n\n---\n\nbelow", ["above", "below"]),
        ("~~gone~~ here", ["gone here"]),
        ("a footnote[^1] here", ["a footnote here"]),
        (r"not \*emphasis\*", ["not emphasis"]),
        ("2 * 3 * 4 stays", ["two times three times four stays"]),
        ("<b>bold</b> move<br>next", ["bold move next"]),
        ("&lt;tag&gt; &amp; more", ["less than tag greater than and more"]),
        ('<a href="http://x.com">here</a>', ["here"]),
        ("<!-- hidden --> seen", ["seen"]),
        ("<speak>hello</speak>", ["hello"]),
        ("if a<b and c>d then", ["if a less than b and c greater than d then"]),
    ],
)
def test_txt_09_marks_are_not_spoken_and_words_are(text: str, expected: list[str]) -> None:
    assert said(text) == expected


def test_text_as_written_keeps_its_marks() -> None:
    assert read("# **Title**\n- $5", frozenset()) == [("# **Title**", 0.2), ("- $5", 0.0)]


def test_a_paragraph_of_any_length_is_read_a_window_at_a_time() -> None:
    text = "word " * 40_000
    longest = 0
    for segment in segments(text, Reading("en", 300)):
        assert segment.passage is not None
        longest = max(longest, segment.end - segment.start)
    assert longest <= WINDOW
    assert segment.end == len(text) - 1


@pytest.mark.parametrize(
    "text", ["x" * 10_000, "9" * 10_000, "[" * 5000 + "a", "(" * 5000 + "a", "a.b" * 4000, "-\n" * 3000 + "a"]
)
def test_strange_long_texts_are_read_to_their_ends(text: str) -> None:
    found = list(segments(text, Reading("en-US", 300)))
    assert found[-1].end == len(text)


@pytest.mark.parametrize("first_chars", [0, 30])
def test_the_first_segment_may_end_at_a_clause(first_chars: int) -> None:
    text = "When it rained, we stayed at home, all of us. When it shone, we went."
    found = [segment.text for segment in segments(text, Reading("en", 300, first_chars=first_chars))]
    if first_chars:
        assert found == ["When it rained,", "we stayed at home, all of us.", "When it shone, we went."]
    else:
        assert found == ["When it rained, we stayed at home, all of us.", "When it shone, we went."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # TXT-13
        (
            "Dr. Lee paid 3.14 dollars to the U.S. office at example.com. It was 98.6 degrees at 5 p.m. today.",
            2,
        ),
        ("He came at 5 p.m. Then he left.", 2),
        ("Approx. 5 km. Figs. 3 and 4. No. 7 is here.", 3),
        ("J. R. R. Tolkien wrote it.", 1),
        ("Mix 1 tsp. salt with 2 oz. cheese.", 1),
        ("1. First of all.", 1),
        ("See a.m. and e.g. Apple there.", 1),
    ],
)
def test_txt_13_sentences_end_where_they_end(text: str, expected: int) -> None:
    assert len(said(text)) == expected


@pytest.mark.parametrize("between", [" ", "\n", "\n\n"])
def test_each_segment_costs_a_bounded_look_at_the_text(between: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = 0

    def counting(language: str, text: str) -> list[str]:
        nonlocal looked_at
        looked_at += len(text)
        assert len(text) <= 2 * WINDOW
        return list(sentencex.segment(language, text))

    monkeypatch.setattr("tts_service.text.sentences.sentencex", SimpleNamespace(segment=counting))
    text = between.join(["This is a sentence, the next one is like it."] * 5000)
    found = segments(text, Reading("en", 300))
    next(found)
    assert looked_at <= 2 * WINDOW
    assert 1 + sum(1 for _ in found) == 5000
    assert looked_at <= 1.2 * len(text)
