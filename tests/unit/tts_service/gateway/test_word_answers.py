"""Answers with words: JSON, events and captions are of one mind, and the audio in them is the audio without them."""

from __future__ import annotations

import base64
import io
import json
import wave
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from support.fake_client import FakeClient, FakeGateway
from support.ffmpeg import decoded, probe
from support.pools import pool
from support.scripted_broker import SAMPLES_PER_CHAR, ScriptedBroker, audio_of
from tts_service.errors import Code
from tts_service.gateway.pcm import to_int16
from tts_service.protocol import Job, Voice

TEXT = "First comes $5. Then comes Dr. No, and a **last** one."
SPOKEN = ["First", "comes", "$5", "Then", "comes", "Dr.", "No", "and", "a", "last", "one"]
FORMATS = ["mp3", "opus", "aac", "flac", "wav", "pcm", "ulaw", "wav_alaw"]


def gateway(client: FakeClient | None = None, **settings: Any) -> FakeGateway:
    return FakeGateway(client or FakeClient([pool(word_times=True)]), **settings)


def words_in(body: bytes) -> list[dict[str, Any]]:
    """Return the words of all events."""
    values = [json.loads(line.removeprefix("data: ")) for line in body.decode().split("\n") if line.startswith("data")]
    return [word for value in values if value["type"] == "speech.audio.words" for word in value["words"]]


@pytest.mark.parametrize("audio_format", FORMATS)
def test_the_audio_in_json_is_the_answer_in_that_format(audio_format: str) -> None:
    service = gateway()
    answer = service.speak(TEXT, response_format="json", audio_format=audio_format)
    assert (answer.status_code, answer.content_type) == (200, "application/json")
    plain = service.speak(TEXT, response_format=audio_format, stream=False)
    assert base64.b64decode(answer.json["audio"]) == plain.data
    assert answer.json["format"] == audio_format
    assert str(answer.json["sample_rate"]) == plain.headers["X-Sample-Rate"]
    assert [word["text"] for word in answer.json["words"]] == SPOKEN
    answer.close()
    assert service.client.reports[0].response_format == "json"
    assert service.admission.n_inside == 0


def test_every_word_is_at_the_samples_where_it_is_heard() -> None:
    answer = gateway().speak("Is it here or there? It is.", response_format="json", audio_format="wav")
    with wave.open(io.BytesIO(base64.b64decode(answer.json["audio"]))) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    assert round(24000 * answer.json["duration_s"]) == pytest.approx(len(samples), abs=12)
    spoken = to_int16(np.concatenate([audio_of("Is it here or there?"), audio_of("It is.")]))
    assert np.array_equal(samples, spoken)
    chars = {"Is": 0, "it": 3, "here": 6, "or": 11, "there": 14, "It": 20, "is": 23}
    assert {word["text"]: round(240 * word["start_s"]) for word in answer.json["words"]} == {
        word: round(at * SAMPLES_PER_CHAR / 100) for word, at in chars.items()
    }


@pytest.mark.parametrize("fields", [{}, {"speed": 4.0}, {"trim": True, "sample_rate": 8000}, {"audio_format": "aac"}])
def test_words_of_events_are_those_of_json(fields: dict[str, Any]) -> None:
    service = gateway(first_chunk_s=0.02, chunk_s=0.03)
    whole = service.speak(TEXT, response_format="json", **fields).json["words"]
    form = {**fields, "response_format": fields.get("audio_format", "mp3")}
    form.pop("audio_format", None)
    for stream in (True, False):
        events = service.speak(TEXT, stream_format="sse", timestamps="word", stream=stream, **form)
        assert words_in(events.data) == whole


def test_words_are_told_right_before_the_audio_that_they_end_in_once_their_segment_is_known() -> None:
    service = gateway(first_chunk_s=0.02, chunk_s=0.02)
    body = service.speak(TEXT, stream_format="sse", timestamps="word", response_format="pcm").data
    delivered_s, last_s, n_groups = 0.0, 0.0, 0
    for line in body.decode().split("\n"):
        value = json.loads(line.removeprefix("data: ")) if line else {"type": ""}
        if value["type"] == "speech.audio.delta":
            delivered_s += len(base64.b64decode(value["audio"])) / 2 / 24000
            assert last_s <= delivered_s + 0.001
        elif value["type"] == "speech.audio.words":
            assert value["words"][0]["start_s"] >= last_s - 0.001
            last_s, n_groups = value["words"][-1]["end_s"], n_groups + 1
    assert n_groups > 1


def test_links_and_accept_headers_get_events_with_words_too() -> None:
    service = gateway()
    expected = service.speak(TEXT, response_format="json", audio_format="wav").json["words"]
    link = {"input": TEXT, "timestamps": "word"}
    for more, headers in (({"stream_format": "sse"}, {}), ({}, {"Accept": "text/event-stream"})):
        answer = service.http.get("/v1/audio/speech", query_string=link | more, headers=headers)
        assert words_in(answer.data) == expected
    plain = service.http.get("/v1/audio/speech", query_string={"input": TEXT, "stream_format": "sse"})
    asked = service.http.get("/v1/audio/speech", query_string=link | {"stream_format": "sse"})
    assert plain.headers["ETag"] != asked.headers["ETag"]


def test_clients_that_do_not_ask_see_no_words() -> None:
    assert b"speech.audio.words" not in gateway().speak(TEXT, stream_format="sse").data


@pytest.mark.parametrize("kind", ["srt", "vtt"])
def test_captions_are_parsed_by_ffmpeg_and_have_all_of_the_text(kind: str, tmp_path: Path) -> None:
    service = gateway(sentence_pause_s=0.5)
    answer = service.speak(TEXT, response_format=kind, audio_format="wav")
    assert answer.content_type == f"{'text/vtt' if kind == 'vtt' else 'application/x-subrip'}; charset=utf-8"
    found = probe(answer.data, tmp_path / f"captions.{kind}")
    assert found["codec_name"] == {"srt": "subrip", "vtt": "webvtt"}[kind]
    words = service.speak(TEXT, response_format="json", audio_format="wav").json["words"]
    with av.open(io.BytesIO(answer.data), format={"srt": "srt", "vtt": "webvtt"}[kind]) as file:
        packets = [packet for packet in file.demux() if packet.size]
        shown = [bytes(packet).decode().replace("\n", " ") for packet in packets]
        starts = [float(packet.pts * packet.time_base) for packet in packets]
    assert shown == ["First comes $5.", "Then comes Dr. No, and a last one."]
    assert starts == [words[0]["start_s"], words[3]["start_s"]]


@pytest.mark.parametrize("response_format", ["mp3", "aac", "opus", "flac", "wav"])
def test_times_are_those_of_the_decoded_file(response_format: str) -> None:
    # Silence, then noise: where it begins after a pause is to be seen in every format.
    text = "One two three four five six. Seven eight nine ten eleven twelve."
    service = gateway(sentence_pause_s=0.4, mp3_kbps=128, aac_kbps=128)
    answer = service.speak(text, response_format="json", audio_format=response_format).json
    samples = decoded(base64.b64decode(answer["audio"]), response_format, 24000).astype(float)
    second = next(word["start_s"] for word in answer["words"] if word["text"] == "Seven")
    loud = np.abs(samples) > 4000
    middle = round(24000 * (second - 0.2))
    onset = middle + int(np.argmax(loud[middle:]))
    assert onset / 24000 == pytest.approx(second, abs=0.01)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"response_format": "json", "stream": True}, "stream"),
        ({"response_format": "srt", "stream_format": "sse"}, "stream_format"),
        ({"response_format": "mp3", "audio_format": "wav"}, "audio_format"),
        ({"timestamps": "word"}, "timestamps"),
        ({"timestamps": "character", "stream_format": "sse"}, "timestamps"),
        ({"response_format": "json", "audio_format": "srt"}, "audio_format"),
        ({"response_format": "json", "audio_format": "ulaw", "sample_rate": 24000}, "sample_rate"),
    ],
)
def test_fields_that_do_not_go_together_are_refused_by_name(fields: dict[str, Any], param: str) -> None:
    answer = gateway().speak(TEXT, **fields)
    assert answer.status_code == 400
    assert answer.json["error"]["param"] == param


@pytest.mark.parametrize(
    ("fields", "param"),
    [({"response_format": form}, "response_format") for form in ("json", "srt", "vtt")]
    + [({"stream_format": "sse", "timestamps": "word"}, "timestamps")],
)
def test_a_model_that_does_not_know_its_words_says_so_and_which_do(fields: dict[str, Any], param: str) -> None:
    pools = [pool("mute", engine_name="hibari"), pool("able", engine_name="piper", word_times=True)]
    service = gateway(FakeClient(pools))
    answer = service.speak(TEXT, model="mute", **fields)
    assert answer.status_code == 400
    error = answer.json["error"]
    assert (error["param"], error["code"]) == (param, "invalid_request")
    assert "model 'mute' (engine hibari) does not say when words are spoken; models that do: able" in error["message"]
    assert service.client.posted == []
    assert service.speak(TEXT, model="able", **fields).status_code == 200


def test_a_voice_that_runs_whole_is_refused_by_its_name() -> None:
    voices = [Voice("anna", "Anna", ["en"]), Voice("old", "Old", ["en"], word_times=False)]
    service = gateway(FakeClient([pool(word_times=True, voices=voices)]))
    error = service.speak(TEXT, voice="old", response_format="json").json["error"]
    assert "voice 'old' of model 'default'" in error["message"]
    listed = service.http.get("/v1/audio/voices").json["voices"]
    assert [(voice["id"], voice["word_times"]) for voice in listed] == [("anna", True), ("old", False)]
    assert service.http.get("/v1/models").json["data"][0]["word_times"] is True


def test_links_to_captions_have_names_tags_and_the_times_of_the_links_audio() -> None:
    service = gateway()
    link = {"input": TEXT, "voice": "bert"}
    answer = service.http.get("/v1/audio/speech", query_string=link | {"response_format": "srt"})
    assert answer.status_code == 200
    assert answer.headers["Content-Disposition"].endswith('.srt"')
    assert answer.data == service.speak(TEXT, voice="bert", response_format="srt", audio_format="wav").data
    head = service.http.head("/v1/audio/speech", query_string=link | {"response_format": "srt"})
    assert head.headers["ETag"] == answer.headers["ETag"]
    assert head.headers["Content-Type"] == answer.content_type
    others = [
        service.http.head("/v1/audio/speech", query_string=link | fields).headers["ETag"]
        for fields in ({}, {"response_format": "vtt"}, {"response_format": "json"})
    ]
    assert len({answer.headers["ETag"], *others}) == 4
    same_sound = link | {"input": TEXT.replace("$5", "five dollars"), "response_format": "srt"}
    assert service.http.head("/v1/audio/speech", query_string=same_sound).headers["ETag"] != answer.headers["ETag"]


def test_an_accept_for_events_leaves_captions_as_they_are() -> None:
    answer = gateway().speak(TEXT, {"headers": {"Accept": "text/event-stream"}}, response_format="vtt")
    assert answer.data.startswith(b"WEBVTT")


def test_the_room_of_an_answer_with_words_is_given_back() -> None:
    service = gateway(audio_budget_mib=1)
    for _ in range(40):
        answer = service.speak(TEXT * 20, response_format="json", audio_format="wav")
        assert answer.status_code == 200
        answer.close()


def test_a_failure_is_no_document() -> None:
    def fail(broker: ScriptedBroker, job: Job) -> None:
        broker.fail(job, Code.ENGINE_FAILED, "the engine broke")

    for form in ("json", "srt"):
        answer = gateway(FakeClient([pool(word_times=True)], fail)).speak(TEXT, response_format=form)
        assert (answer.status_code, answer.json["error"]["code"]) == (500, "engine_failed")
