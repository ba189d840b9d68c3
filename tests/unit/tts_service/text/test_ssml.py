"""SSML: what its elements do to text, silence and speed, and what is refused."""

from __future__ import annotations

import pytest

from tts_service.errors import Code, RequestFailed
from tts_service.text.front_end import Reading, check, segments
from tts_service.text.segment import Pauses, SegmentText


def read(document: str, **fields: object) -> list[SegmentText]:
    reading = Reading("en-US", 300, ssml=True, pauses=Pauses(0.1, 0.2, 0.5), **fields)  # type: ignore[arg-type]
    check(document, reading)
    return list(segments(document, reading))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("Hello there.", ["Hello there."]),
        ("Salt &amp; pepper &lt;3&gt;.", ["Salt and pepper less than three greater than."]),
        ("<p>One.</p><p><s>Two</s><s>Three</s></p>", ["One.", "Two", "Three"]),
        ("See <sub alias='World Wide Web Consortium'>W3C</sub> now.", ["See World Wide Web Consortium now."]),
        ("<say-as interpret-as='characters'>AB1-</say-as>", ["A, B, one, dash"]),
        ("<say-as interpret-as='digits'>1984</say-as>", ["one nine eight four"]),
        ("<say-as interpret-as='cardinal'>1984</say-as>", ["one thousand nine hundred eighty-four"]),
        ("<say-as interpret-as='ordinal'>3</say-as> place", ["third place"]),
        ("<say-as interpret-as='date' format='dmy'>3/5/2024</say-as>", ["May third, twenty twenty-four"]),
        ("<say-as interpret-as='telephone'>555 1234</say-as>", ["five five five, one two three four"]),
        ("<say-as interpret-as='time'>9:42</say-as>", ["nine forty-two"]),
        ("<![CDATA[a < b]]>", ["a less than b"]),
        ("two\n   lines", ["two lines"]),
        ("**not markdown**", ["not markdown"]),
    ],
)
def test_what_is_said(content: str, expected: list[str]) -> None:
    assert [segment.text for segment in read(f"<speak>{content}</speak>")] == expected


def test_breaks_are_silence_and_rates_are_speeds() -> None:
    found = read(
        '<speak>One<break time="300ms"/>two <prosody rate="slow">three</prosody> <break strength="strong"/>four</speak>'
    )
    assert [(segment.text, segment.pause_after_s, segment.speed) for segment in found] == [
        ("One", 0.3, 1.0),
        ("two", 0.0, 1.0),
        ("three", 0.8, 0.75),
        ("four", 0.0, 1.0),
    ]


def test_paragraphs_and_sentences_have_their_silence() -> None:
    found = read("<speak><p><s>One</s><s>Two</s></p><p>Three</p></speak>")
    assert [segment.pause_after_s for segment in found] == [0.1, 0.5, 0.0]


def test_places_are_those_in_the_document() -> None:
    document = "<speak>Grüße &amp; Küsse <sub alias='eins zwei'>12</sub>.\r\n<s>Ende</s></speak>"
    first, last = read(document)
    assert document[first.start : first.end] == "Grüße &amp; Küsse <sub alias='eins zwei'>12</sub>."
    assert document[last.start : last.end] == "Ende"
    at = first.text.index("eins")
    assert document[slice(*first.source(at, at + 9))] == "12"


def test_phonemes_go_to_engines_that_take_them_and_words_to_the_others() -> None:
    document = "<speak>Say <phoneme alphabet='ipa' ph='təˈmɑːtoʊ'>tomato</phoneme>.</speak>"
    assert [segment.text for segment in read(document)] == ["Say tomato."]
    assert [segment.text for segment in read(document, raw_phonemes=True)] == ["Say [[təˈmɑːtoʊ]]."]


def test_a_long_document_is_read_a_window_at_a_time() -> None:
    document = "<speak>" + "A sentence of &lt;six&gt; words. " * 3000 + "</speak>"
    found = read(document)
    assert len(found) == 3000
    assert {segment.text for segment in found} == {"A sentence of less than six greater than words."}


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ("<speak>unclosed", "no element found at line 1, column 16"),
        ("plain text", "is no SSML: syntax error at line 1"),
        ("<p>no root</p>", "begins with <'p'>, expected <speak>"),
        ("<speak>a & b</speak>", "is no SSML: not well-formed"),
        ("<!DOCTYPE speak [<!ENTITY a 'b'>]><speak>&a;</speak>", "document type"),
        ("<speak>&nbsp;</speak>", "undefined entity"),
        ("<speak><audio src='x'/></speak>", "<'audio'>: expected one of speak, p, s, break"),
        ("<speak><prosody pitch='high'>x</prosody></speak>", "'pitch' in <prosody>: expected one of rate"),
        ("<speak><prosody rate='0.01'>x</prosody></speak>", "rate = '0.01'"),
        ("<speak><break time='1h'/>x</speak>", "time = '1h': expected 0s to 30s"),
        ("<speak><break time='31s'/>x</speak>", "time = '31s'"),
        ("<speak><break strength='huge'/>x</speak>", "strength = 'huge'"),
        ("<speak><say-as interpret-as='song'>x</say-as></speak>", "interpret-as = 'song'"),
        ("<speak><sub>x</sub></speak>", "<sub> without alias"),
        ("<speak><sub alias='a'><p>x</p></sub></speak>", "<p> within <sub>"),
        ("<speak><phoneme alphabet='x-sampa' ph='a'>x</phoneme></speak>", "alphabet = 'x-sampa': expected ipa"),
        ("<speak>" + "<p>" * 60 + "</p>" * 60 + "</speak>", "more than 50 deep"),
        ("<speak><prosody rate='500%'>x</prosody></speak>", "prosody rate 5: the voice speaks at 0.5 to 2 times"),
    ],
)
def test_what_cannot_be_followed_is_refused_before_anything_is_spoken(document: str, reason: str) -> None:
    with pytest.raises(RequestFailed) as caught:
        read(document, speeds=(0.5, 2.0))
    assert (caught.value.code, caught.value.param) == (Code.INVALID_REQUEST, "input")
    assert reason in caught.value.message
