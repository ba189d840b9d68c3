"""POST /v1/audio/text, and what a request says about reading, up to the jobs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.fake_client import FakeClient, FakeGateway
from support.pools import pool
from tts_service.gateway.body import StepName
from tts_service.protocol import Voice
from tts_service.text.steps import STEP_NAMES


def jobs_of(gateway: FakeGateway, text: str, **fields: Any) -> list[str]:
    gateway.speak(text, response_format="wav", **fields)
    return [job.text for job in gateway.client.posted]


def test_every_segment_is_shown_with_its_place_and_what_was_changed() -> None:
    answer = FakeGateway().http.post("/v1/audio/text", json={"input": "It costs $5. Yes."})
    assert answer.content_type == "application/json"
    assert answer.get_json() == {
        "voice": "anna",
        "language": "en-GB",
        "segments": [
            {
                "text": "It costs five dollars.",
                "start": 0,
                "end": 12,
                "pause_before": 0.0,
                "pause_after": 0.0,
                "speed": 1.0,
                "edits": [{"rule": "currency", "start": 9, "end": 11, "before": "$5", "after": "five dollars"}],
            },
            {
                "text": "Yes.",
                "start": 13,
                "end": 17,
                "pause_before": 0.0,
                "pause_after": 0.0,
                "speed": 1.0,
                "edits": [],
            },
        ],
    }


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"input": "…"}, "nothing_to_speak"),
        ({"input": "Привет"}, "unsupported_text"),
        ({"input": "<speak>", "input_type": "ssml"}, "invalid_request"),
        ({"input": "Hi [pause:99s]"}, "invalid_request"),
        ({"input": "Hi", "normalize": ["grammar"]}, "invalid_request"),
        ({"input": "Hi", "input_type": "html"}, "invalid_request"),
    ],
)
@pytest.mark.parametrize("route", ["/v1/audio/text", "/v1/audio/speech"])
def test_what_cannot_be_spoken_cannot_be_shown_either(fields: dict[str, Any], code: str, route: str) -> None:
    answer = FakeGateway(FakeClient([pool(scripts=["LATIN"])])).http.post(route, json=fields)
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (400, code)


def test_a_request_chooses_the_steps() -> None:
    assert jobs_of(FakeGateway(), "Dr. Lee has $5") == ["Doctor Lee has five dollars"]
    assert jobs_of(FakeGateway(), "Dr. Lee has $5", normalize=False) == ["Dr. Lee has $5"]
    assert jobs_of(FakeGateway(), "Dr. Lee has $5", normalize=["currency"]) == ["Dr. Lee has five dollars"]


def test_the_names_of_the_steps_are_those_of_requests() -> None:
    assert StepName.__args__ == STEP_NAMES


def test_what_an_engine_reads_itself_is_left_to_it() -> None:
    def jobs(reads: list[str]) -> list[str]:
        return jobs_of(FakeGateway(FakeClient([pool(reads=reads)])), "Dr. Lee has $5")

    assert jobs(["all"]) == ["Dr. Lee has $5"]
    assert jobs(["abbreviations"]) == ["Dr. Lee has five dollars"]


def test_the_language_is_the_requests_or_the_voices() -> None:
    assert jobs_of(FakeGateway(), "1,234", voice="anna") == ["one thousand two hundred and thirty-four"]
    assert jobs_of(FakeGateway(), "1.234", voice="bert") == ["eintausendzweihundertvierunddreißig"]
    both = FakeGateway(FakeClient([pool(voices=[Voice("bert", "Bert", ["de", "fr"])], default_voice="bert")]))
    assert jobs_of(both, "1 234", voice="bert", language="fr") == ["mille deux cent trente-quatre"]


def test_phonemes_are_left_alone_where_the_engine_takes_them() -> None:
    client = FakeClient([pool(raw_phonemes=True)])
    assert jobs_of(FakeGateway(client), "Dr. [[ɡʊd 5 **d☃ˈeɪ**]]x 5") == ["Doctor [[ɡʊd 5 **d☃ˈeɪ**]]x five"]


def test_letters_of_the_ipa_are_let_through_where_they_are_phonemes() -> None:
    latin = FakeClient([pool(raw_phonemes=True, scripts=["LATIN"])])
    assert jobs_of(FakeGateway(latin), "a [[θɪˈŋːɡ]]") == ["a [[θɪˈŋːɡ]]"]
    document = "<speak><phoneme ph='θɪˈŋː'>thing</phoneme></speak>"
    for raw_phonemes, expected in ((True, "[[θɪˈŋː]]"), (False, "thing")):
        client = FakeClient([pool(raw_phonemes=raw_phonemes, scripts=["LATIN"])])
        assert jobs_of(FakeGateway(client), document, input_type="ssml") == [expected]


def test_a_rate_in_the_text_goes_with_that_of_the_request() -> None:
    gateway = FakeGateway()
    document = "<speak>one <prosody rate='50%'>two</prosody></speak>"
    gateway.speak(document, input_type="ssml", speed=1.5, response_format="wav")
    assert [(job.text, job.speed) for job in gateway.client.posted] == [("one", 1.5), ("two", 0.75)]
    refused = gateway.http.post("/v1/audio/speech", json={"input": document, "input_type": "ssml", "speed": 0.8})
    assert "prosody rate 0.5: the voice speaks at 0.625 to 2.5 times" in refused.get_json()["error"]["message"]


def test_pauses_are_silence_of_whole_samples_before_between_and_behind() -> None:
    def n_samples(text: str, **settings: Any) -> int:
        gateway = FakeGateway(**settings)
        data = gateway.speak(text, response_format="pcm", sample_rate="native", stream=False).data
        return len(np.frombuffer(data, "<i2"))

    plain = n_samples("One. Two.")
    assert n_samples("[pause:1s]One.[pause:250ms] Two.[pause:2.00001s]") == plain + 24_000 + 6_000 + 48_000
    assert n_samples("One. Two.", sentence_pause_s=0.5) == plain + 12_000
    assert n_samples("One.\nTwo.", line_pause_s=0.25) == plain + 6_000
    assert n_samples("One.\n\nTwo.", paragraph_pause_s=0.75) == plain + 18_000


def test_a_text_to_look_at_takes_one_of_the_places_and_gives_it_back() -> None:
    gateway = FakeGateway(max_requests=1)
    answer = gateway.http.post("/v1/audio/text", json={"input": "One. Two."}, buffered=False)
    assert gateway.admission.n_inside == 1
    refused = gateway.http.post("/v1/audio/text", json={"input": "Three."})
    assert (refused.status_code, refused.get_json()["error"]["code"]) == (503, "too_many_requests")
    answer.close()
    assert gateway.admission.n_inside == 0
    assert gateway.http.post("/v1/audio/text", json={"input": "…"}).status_code == 400
    assert gateway.admission.n_inside == 0
    whole = gateway.http.post("/v1/audio/text", json={"input": "Three."}, buffered=True)
    assert whole.get_json()["segments"][0]["text"] == "Three."
    assert gateway.admission.n_inside == 0
