"""Numbers, dates, prices and abbreviations through the whole service: a recogniser hears what a person would read."""

from __future__ import annotations

import subprocess
import sys

import jiwer
import pytest

from support.asr import Recognizer, normalise, word_error_rate
from support.samples import decode
from support.sentences import PLAIN
from support.service import Service
from support.written import PLAIN_MORE, WRITTEN
from tts_service.text.front_end import Reading, segments

pytestmark = pytest.mark.system

MAX_WORD_ERROR_RATE = 0.10
MAX_PLAIN_WORD_ERROR_RATE = 0.05


@pytest.fixture(scope="module")
def recognizer() -> Recognizer:
    return Recognizer()


def in_words(text: str) -> str:
    """Return what a text says, word by word: the recogniser writes digits itself, for whatever it heard."""
    return normalise(" ".join(segment.text for segment in segments(text, Reading("en-US", 1000))))


def error_rate(service: Service, recognizer: Recognizer, written: tuple[tuple[str, str], ...]) -> float:
    """Return the word error rate over all of them, against how a person reads them."""
    expected, heard = [], []
    for text, read in written:
        body = service.speak(text, response_format="wav", seed=1)[1]
        expected.append(in_words(read))
        heard.append(in_words(recognizer.transcribe(*decode(body))))
    return float(jiwer.wer(expected, heard))


def test_what_is_written_in_digits_and_signs_is_heard_in_words(hibari: Service, recognizer: Recognizer) -> None:
    assert error_rate(hibari, recognizer, WRITTEN[::6]) <= MAX_WORD_ERROR_RATE


@pytest.mark.drill
def test_fifty_sentences_of_digits_and_signs_are_heard_in_words(hibari: Service, recognizer: Recognizer) -> None:
    assert len(WRITTEN) == 50
    assert error_rate(hibari, recognizer, WRITTEN) <= MAX_WORD_ERROR_RATE


@pytest.mark.drill
def test_twenty_plain_sentences_are_heard(hibari: Service, recognizer: Recognizer) -> None:
    texts = PLAIN + PLAIN_MORE
    assert len(texts) == 20
    bodies = [hibari.speak(text, response_format="wav", seed=1)[1] for text in texts]
    heard = " ".join(recognizer.transcribe(*decode(body)) for body in bodies)
    assert word_error_rate(" ".join(texts), heard) <= MAX_PLAIN_WORD_ERROR_RATE


def test_the_text_that_is_shown_is_the_text_that_is_spoken(tone: Service, hibari: Service) -> None:
    with hibari.connect() as connection:
        answer = connection.post("/v1/audio/text", {"input": "Dr. Lee paid $3.50.\n\n- one\n- two"})
        shown = answer.json()
    assert [segment["text"] for segment in shown["segments"]] == [
        "Doctor Lee paid three dollars and fifty cents.",
        "one",
        "two",
    ]
    assert (shown["voice"], shown["language"]) == ("heart", "en-US")
    assert [edit["rule"] for edit in shown["segments"][0]["edits"]] == ["currency", "abbreviations"]
    # The engine of the other one reads for itself.
    with tone.connect() as connection:
        (segment,) = connection.post("/v1/audio/text", {"input": "Dr. Lee paid $3.50."}).json()["segments"]
    assert segment["text"] == "Dr. Lee paid $3.50."


@pytest.mark.parametrize("own_workers", [False, True])
def test_say_shows_the_text_and_the_rules(hibari: Service, own_workers: bool) -> None:
    where = ["--engine", "hibari", "--workers", "1"] if own_workers else ["--url", hibari.url]
    command = [sys.executable, "-m", "tts_service", "say", "It is 9:42. [pause:1s] Go!!!", "--show-text", *where]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "It is nine forty-two.  [0-11, then 1 s]",
        "    pause: '[pause:1s]' -> ''",
        "    times: '9:42' -> 'nine forty-two'",
        "Go!  [23-28]",
        "    punctuation: '!!!' -> '!'",
    ]


def test_txt_03_words_glued_by_a_bracket_and_dashes_take_their_time(hibari: Service) -> None:
    glued = hibari.pcm("a handful of people (the inner circle)—and everyone else—noticed", seed=1)
    commas = hibari.pcm("a handful of people, the inner circle, and everyone else, noticed", seed=1)
    assert len(glued) >= 0.85 * len(commas)


def test_a_document_of_ssml_is_spoken_with_its_silence(tone: Service) -> None:
    plain = tone.pcm("One", sample_rate="native") + tone.pcm("two", sample_rate="native")
    document = '<speak>One<break time="500ms"/>two</speak>'
    pcm = tone.pcm(document, sample_rate="native", input_type="ssml")
    assert len(pcm) == len(plain) + 2 * 12_000
    assert pcm == tone.pcm(document, sample_rate="native", input_type="ssml", stream=False)
    status, body, _ = tone.post_raw(b'{"input": "<speak><audio/></speak>", "input_type": "ssml"}')
    assert (status, body["error"]["code"], body["error"]["param"]) == (400, "invalid_request", "input")
