"""From text to segments, through the whole service: nothing is dropped, nothing fails, and refusals are clear."""

from __future__ import annotations

import unicodedata

import pytest

from support.asr import Recognizer
from support.samples import decode, from_pcm, tone_samples
from support.sentences import PLAIN
from support.service import Service

pytestmark = pytest.mark.system

RUN_ON = "people walked along the river and talked about the weather "


@pytest.fixture(scope="module")
def recognizer() -> Recognizer:
    return Recognizer()


# The limits of a segment: 300 characters by default, 400 phonemes and 500 characters of the embedded voice.
@pytest.mark.parametrize("n", [299, 300, 301, 399, 400, 401, 500, 509, 510, 511, 512, 600, 601])
def test_txt_01_one_endless_word_is_spoken_whole(either: Service, n: int) -> None:
    pcm = either.pcm("a" * n, sample_rate="native")
    if "tone" in either.workers()[0]["engine"]:
        assert len(pcm) // 2 == tone_samples("a" * n)
    else:
        assert len(pcm) // 2 > 24000


def test_txt_01_a_long_sentence_without_marks_is_cut_at_spaces(either: Service) -> None:
    text = (RUN_ON * 12).strip()
    half = (RUN_ON * 6).strip()
    whole, halves = len(either.pcm(text)), 2 * len(either.pcm(half))
    assert whole >= 0.85 * halves


def test_txt_01_no_character_but_the_spaces_at_cuts_is_left_out(tone: Service) -> None:
    text = (RUN_ON * 12).strip()
    n_cuts = len(text) // 300
    n_spoken = len(tone.pcm(text)) / 2 / tone_samples("a")
    assert len(text) - n_cuts <= n_spoken <= len(text)


@pytest.mark.parametrize("strange", ["\uaa81", "\U0010ffff", "\ufdd0", "\uaa81 friend", "\u0000x", "\U0001f600", "ǅ"])
def test_txt_05_a_strange_character_changes_nothing_for_later_texts(either: Service, strange: str) -> None:
    before = either.pcm("A, B, C, D, E.", seed=1)
    answer, _ = either.speak(strange, response_format="wav")
    assert answer.status in (200, 400)
    assert either.pcm("A, B, C, D, E.", seed=1) == before


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "text", ["!", " !", "?", "…", "---", "()", "。", '""', "\u200b", "[pause:1s]", "\n*\n*\n", "¡¿"]
)
def test_txt_07_a_text_without_anything_to_speak_is_refused(either: Service, text: str, stream: bool) -> None:
    status, body, _ = either.post_raw(_json(text, stream))
    assert (status, body["error"]["code"], body["error"]["param"]) == (400, "nothing_to_speak", "input")


def _json(text: str, stream: bool) -> bytes:
    escaped = "".join(f"\\u{unit:04x}" for unit in _utf16(text))
    return f'{{"input": "{escaped}", "stream": {str(stream).lower()}}}'.encode()


def _utf16(text: str) -> list[int]:
    data = text.encode("utf-16-le")
    return [int.from_bytes(data[at : at + 2], "little") for at in range(0, len(data), 2)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("< five minutes left", "five minutes left"),
        ("if a<b and c>d then stop", "then stop"),
        ("salt & pepper", "salt and pepper"),
        ("<speak>hello</speak>", "hello"),
        ("it was a <b>bold</b> move to make", "bold move"),
        ("x <<< y >>> z", ""),
        ("&lt;tag&gt; &amp; more", "more"),
        # TXT-03: words glued by a bracket and dashes.
        ("a handful of people (the inner circle)—and everyone else—noticed", "circle and everyone else noticed"),
    ],
)
def test_txt_09_words_beside_and_inside_brackets_are_spoken(
    hibari: Service, recognizer: Recognizer, text: str, words: str
) -> None:
    answer, body = hibari.speak(text, response_format="wav")
    assert answer.status == 200
    samples, rate_hz = decode(body)
    assert len(samples) > 0.3 * rate_hz
    heard = recognizer.transcribe(samples, rate_hz).lower().replace(",", "").replace(".", "").split()
    assert set(words.split()) <= set(heard), heard


@pytest.mark.parametrize("text", ["< five left", "if a<b and c>d then", "<b>bold</b>", "&lt;tag&gt;", "x <<< y >>> z"])
def test_txt_09_no_character_of_markup_is_taken_out(tone: Service, text: str) -> None:
    assert len(tone.pcm(text)) // 2 == tone_samples(text)


def test_txt_11_lines_without_full_stops_are_set_apart(hibari: Service) -> None:
    lines, joined = "Bring:\nBread\nButter\nJam", "Bring: Bread Butter Jam"
    pause_s = (len(hibari.pcm(lines)) - len(hibari.pcm(joined))) / 2 / 24000
    assert pause_s > 3 * 0.08


@pytest.mark.parametrize("line_end", ["\r\n", "\r", "\u2028", "\u2029"])
def test_txt_11_every_line_end_gives_the_same_audio(either: Service, line_end: str) -> None:
    text = "Chapter One\n\nIt was late\nand dark"
    assert either.pcm(text.replace("\n", line_end), seed=3) == either.pcm(text, seed=3)
    assert either.pcm(text + line_end, seed=3) == either.pcm(text, seed=3)


@pytest.mark.parametrize(
    "text", ["こんにちは", "مرحبا friend", "שלום 123", "Kokoro 是模型", "привет", "नमस्ते and hello", "ยินดี"]
)
def test_txt_16_a_script_that_the_voice_does_not_know_is_refused_by_name(hibari: Service, text: str) -> None:
    status, body, _ = hibari.post_raw(_json(text, stream=True))
    assert (status, body["error"]["code"]) == (400, "unsupported_text")
    # The message shows the character's name and place, so that the author of a long text can find it.
    at, first = next((at, char) for at, char in enumerate(text) if not char.isascii())
    assert f"({unicodedata.name(first)}) at character {at}" in body["error"]["message"]
    assert text not in body["error"]["message"]


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("\u202eabc\u202c def", "abc def"),
        ("\u2066Hello\u2069.", "Hello."),
        ("\ufeffHello.", "Hello."),
        ("Co\u00adope\u00adrate.", "Cooperate."),
    ],
)
def test_txt_16_direction_marks_and_soft_hyphens_are_not_heard(either: Service, text: str, same_as: str) -> None:
    assert either.pcm(text) == either.pcm(same_as)


@pytest.mark.parametrize(
    "text", ["café déjà vu", "ﬁne µ-law", "naïve Ångström", "½ cup", "x² + y²", "№ 5", "“Hi”, she said"]
)
def test_txt_16_latin_letters_of_every_kind_are_spoken(hibari: Service, text: str) -> None:
    assert len(from_pcm(hibari.pcm(text))) > 0.3 * 24000


def test_a_long_text_is_spoken_sentence_by_sentence_without_a_gap(tone: Service) -> None:
    text = " ".join(PLAIN) * 20
    assert len(tone.pcm(text)) // 2 >= tone_samples(text) * 0.95
