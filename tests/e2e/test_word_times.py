"""Words of real answers: where the sound is, whatever was done to it, whoever died meanwhile, and from the cache."""

from __future__ import annotations

import base64
import json
import os
import signal
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from support.ffmpeg import decoded
from support.piper_voices import cache_directory, joe_directory
from support.service import Service, engine_options, running

pytestmark = pytest.mark.system

RATE_HZ = 24000
TEXT = 'Dr. Lee paid $5 at 9:42, and said: "Thanks!"\n\nThen the **old** man went home. It was his 3rd cake.'
WORDS = "Dr. Lee paid $5 at 9:42 and said Thanks Then the old man went home It was his 3rd cake"


@pytest.fixture(scope="module")
def piper() -> Iterator[Service]:
    """Two workers, and a cache."""
    flags = ("--engine", "piper", "--models", str(joe_directory()), "--workers", "2", "--threads", "1")
    options = engine_options(cache=str(cache_directory())) | {"TTS_SERVICE_GATEWAY_CACHE_MIB": "16"}
    with running(*flags, env=options) as service:
        yield service


def with_words(service: Service, text: str, **fields: Any) -> dict[str, Any]:
    """Return the JSON of an answer, of which all that must be true of any has been seen."""
    answer, body = service.speak(text, response_format="json", **fields)
    assert answer.status == 200, body
    found: dict[str, Any] = json.loads(body)
    for word in found["words"]:
        assert word["text"] == text[word["start_char"] : word["end_char"]]
        assert 0 <= word["start_s"] <= word["end_s"] <= found["duration_s"]
    for earlier, later in pairwise(found["words"]):
        assert earlier["end_char"] <= later["start_char"]
        assert earlier["end_s"] <= later["start_s"]
    return found


def streamed(service: Service, text: str, **fields: Any) -> tuple[list[dict[str, Any]], bytes]:
    """Return words and audio of a stream of events."""
    answer, body = service.speak(text, stream_format="sse", timestamps="word", **fields)
    assert answer.status == 200, body
    return read_events(body)


def read_events(body: bytes) -> tuple[list[dict[str, Any]], bytes]:
    values = [json.loads(line[6:]) for line in body.decode().split("\n") if line]
    assert values[-1]["type"] == "speech.audio.done"
    words = [word for value in values if value["type"] == "speech.audio.words" for word in value["words"]]
    audio = [base64.b64decode(value["audio"]) for value in values if value["type"] == "speech.audio.delta"]
    return words, b"".join(audio)


def loud_outside(samples: NDArray[np.int16], rate_hz: int, words: list[dict[str, Any]], slack_s: float) -> float:
    """Return which part of the energy is further than `slack_s` from every word."""
    inside = np.zeros(len(samples), bool)
    for word in words:
        inside[max(0, round(rate_hz * (word["start_s"] - slack_s))) : round(rate_hz * (word["end_s"] + slack_s))] = True
    energy = samples.astype(float) ** 2
    return float(energy[~inside].sum() / energy.sum())


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"audio_format": "wav", "sample_rate": 16000},
        {"audio_format": "aac", "speed": 1.5},
        {"audio_format": "opus", "trim": True},
        {"audio_format": "flac", "speed": 3.0},
        {"audio_format": "wav", "speed": 3.0, "trim": True, "sample_rate": "native"},
    ],
)
def test_words_of_a_voice_are_the_users_and_lie_where_its_sound_is(piper: Service, fields: dict[str, Any]) -> None:
    found = with_words(piper, TEXT, **fields)
    assert " ".join(word["text"].strip("*") for word in found["words"]) == WORDS
    rate_hz = found["sample_rate"]
    samples = decoded(base64.b64decode(found["audio"]), found["format"], rate_hz)
    # What mp3 and aac fill up at their end is not the speech's.
    assert len(samples) / rate_hz == pytest.approx(found["duration_s"], abs=0.06)
    assert loud_outside(samples, rate_hz, found["words"], 0.05) < 0.01
    late = [word | {"start_s": word["start_s"] + 0.3, "end_s": word["end_s"] + 0.3} for word in found["words"]]
    assert loud_outside(samples, rate_hz, late, 0.05) > 0.02, "the measure tells right from wrong"
    # Between the paragraphs there is a pause, which no word takes.
    thanks, then = found["words"][8:10]
    assert then["start_s"] - thanks["end_s"] > 0.3 / fields.get("speed", 1.0) - 0.1


def test_words_of_ssml_are_the_documents_at_every_tempo_and_after_its_pauses(piper: Service) -> None:
    text = '<speak>One <prosody rate="50%">two &amp; three.</prosody><break time="700ms"/>'
    text += ' <sub alias="four">4th</sub> five.</speak>'
    found = with_words(piper, text, input_type="ssml", audio_format="flac")
    assert [word["text"] for word in found["words"]] == ["One", "two", "&amp;", "three", "4th", "five"]
    samples = decoded(base64.b64decode(found["audio"]), "flac", RATE_HZ)
    assert loud_outside(samples, RATE_HZ, found["words"], 0.05) < 0.01
    assert found["words"][4]["start_s"] - found["words"][3]["end_s"] > 0.6
    _, body = piper.speak(text, input_type="ssml", response_format="vtt", audio_format="flac")
    shown = [cue.split("\n", 1)[1] for cue in body.decode().rstrip("\n").split("\n\n")[1:]]
    assert " ".join(shown) == "One two &amp; three. 4th five.", "WebVTT's own escape, and no tags"


def test_a_trimmed_answer_has_its_words_earlier(piper: Service) -> None:
    whole, trimmed = (with_words(piper, TEXT, audio_format="wav", trim=trim) for trim in (False, True))
    cut_s = whole["words"][0]["start_s"] - trimmed["words"][0]["start_s"]
    moved = [one["end_s"] - other["end_s"] for one, other in zip(whole["words"], trimmed["words"], strict=True)]
    assert moved[:-1] == pytest.approx([moved[0]] * (len(moved) - 1), abs=0.002)
    assert moved[0] == pytest.approx(cut_s, abs=0.03), "a first word may begin in what was cut off"
    assert moved[0] > 0.005


@pytest.mark.parametrize("fields", [{}, {"speed": 3.0}, {"trim": True}])
def test_words_streamed_are_those_of_the_whole_answer(piper: Service, fields: dict[str, Any]) -> None:
    whole = with_words(piper, TEXT, audio_format="pcm", **fields)
    words, audio = streamed(piper, TEXT, response_format="pcm", **fields)
    assert words == whole["words"]
    assert len(audio) == len(base64.b64decode(whole["audio"]))


def test_cached_segments_have_their_words(piper: Service) -> None:
    text = "This was said before. It is said again for 5 pounds."
    first = with_words(piper, text)
    answer, body = piper.speak(text, response_format="json")
    assert answer.headers["X-Cache"] == "hit"
    assert json.loads(body) == first


def test_the_captions_of_an_audio_are_made_with_the_same_request(piper: Service) -> None:
    found = with_words(piper, TEXT, audio_format="opus", seed=4)
    answer, body = piper.speak(TEXT, response_format="vtt", audio_format="opus", seed=4)
    assert answer.status == 200
    assert piper.speak(TEXT, response_format="opus", seed=4, stream=False)[1] == base64.b64decode(found["audio"])
    cues = body.decode().removeprefix("WEBVTT\n\n").rstrip("\n").split("\n\n")
    starts = [cue.partition(" --> ")[0] for cue in cues]
    by_text = {word["text"]: word["start_s"] for word in found["words"]}
    expected = [found["words"][0]["start_s"], by_text["Then"], by_text["It"]]
    assert starts == [f"00:00:{seconds:06.3f}" for seconds in expected]
    assert [cue.split("\n", 1)[1].replace("\n", " ") for cue in cues] == [
        'Dr. Lee paid $5 at 9:42, and said: "Thanks!"',
        "Then the old man went home.",
        "It was his 3rd cake.",
    ]


def test_words_lie_where_a_tone_is_with_pauses_tempo_and_trim(tone: Service) -> None:
    text = "One two three.\n\nFour, five six seven."
    # 0.06 s a character, 0.4 s between paragraphs.
    starts = [0.0, 0.24, 0.48, 1.24, 1.60, 1.90, 2.14]
    for speed in (1.0, 4.0):
        found = with_words(tone, text, audio_format="wav", speed=speed)
        pause_s = 0.4 * (1 - 1 / speed)
        expected = [at / speed + pause_s * (at > 1) for at in starts]
        assert [word["start_s"] for word in found["words"]] == pytest.approx(expected, abs=0.002)
    assert (
        with_words(tone, text, audio_format="wav", trim=True)["words"]
        == with_words(tone, text, audio_format="wav")["words"]
    ), "a tone has no silence at its ends"


def test_words_are_the_same_after_the_workers_were_killed(fragile: Service) -> None:
    text = "la " * 99 + "la."
    whole = with_words(fragile, text, audio_format="pcm")
    fields = {"input": text, "response_format": "pcm", "stream_format": "sse", "timestamps": "word"}
    with fragile.connect() as connection:
        chunks = connection.post("/v1/audio/speech", fields).chunks()
        body = next(chunks)
        busy = [worker["pid"] for worker in fragile.workers() if worker["slots"]["active"] and worker["pid"]]
        for pid in busy:
            os.kill(pid, signal.SIGKILL)
        body += b"".join(chunks)
    assert busy
    words, audio = read_events(body)
    assert audio == base64.b64decode(whole["audio"])
    assert words == whole["words"]
    assert len(words) == 100


def test_a_voice_without_word_times_is_refused_with_what_would_do(hibari: Service) -> None:
    status, models = hibari.get("/v1/models")
    assert (status, models["data"][0]["word_times"]) == (200, False)
    answer, body = hibari.speak("Hello.", response_format="srt")
    assert answer.status == 400
    assert "does not say when words are spoken" in json.loads(body)["error"]["message"]
