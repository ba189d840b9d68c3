"""What clients in the field send, as they send it, and what they then do with the answer."""

from __future__ import annotations

import base64
import http.client
import json
from pathlib import Path
from urllib.parse import urlsplit

import openai
import pytest

from support.ffmpeg import decoded, probe
from support.samples import tone_samples
from support.service import Service

pytestmark = pytest.mark.system

TEXT = "Good evening. What can I do for you?"
N_SAMPLES = tone_samples("Good evening.", "What can I do for you?")
MP3_EXTRA = 1105 + 1152


def post(service: Service, value: object, headers: dict[str, str]) -> tuple[http.client.HTTPMessage, bytes]:
    status, body, found = service.request(
        "POST", "/v1/audio/speech", json.dumps(value).encode(), {"Content-Type": "application/json", **headers}
    )
    assert status == 200, body
    message = http.client.HTTPMessage()
    for name, content in found.items():
        message[name] = content
    return message, body


def test_open_webui_finds_models_and_voices_and_stores_an_mp3(tone: Service, tmp_path: Path) -> None:
    _, models = tone.get("/v1/audio/models")
    _, voices = tone.get("/v1/audio/voices")
    assert all("id" in model for model in models["models"])
    assert all({"id", "name"} <= voice.keys() for voice in voices["voices"])
    # It sends no response_format, and names the file .mp3.
    sent = {"model": "tts-1", "input": TEXT, "voice": "alloy"}
    headers, body = post(tone, sent, {"Authorization": "Bearer sk-x", "X-OpenWebUI-User-Name": "A"})
    assert headers["Content-Type"] == "audio/mpeg"
    found = probe(body, tmp_path / "speech.mp3")
    assert (found["codec_name"], found["sample_rate"]) == ("mp3", "24000")
    assert float(found["duration"]) == pytest.approx(N_SAMPLES / 24000, abs=0.15)


def test_librechat_joins_the_mp3_bodies_of_its_pieces_of_text(tone: Service) -> None:
    bodies = []
    for text in ("Good evening.", "What can I do for you?"):
        sent = {"input": text, "model": "tts-1", "voice": "nova", "backend": "openai"}
        bodies.append(post(tone, sent, {"Authorization": "Bearer x", "Accept": "application/json, text/plain, */*"})[1])
    joined = decoded(b"".join(bodies), "mp3", 24000)
    assert 0 <= len(joined) - N_SAMPLES <= 2 * MP3_EXTRA


def test_sillytavern_with_an_empty_key_gets_an_mp3_for_the_browser(tone: Service) -> None:
    sent = {"input": TEXT, "response_format": "mp3", "voice": "alloy", "speed": 1, "model": "tts-1"}
    headers, body = post(tone, sent, {"Authorization": "Bearer "})
    assert headers["Content-Type"] == "audio/mpeg"
    assert 0 <= len(decoded(body, "mp3", 24000)) - N_SAMPLES <= MP3_EXTRA


def test_pipecat_reads_pcm_as_24_khz_unchecked(tone: Service) -> None:
    with openai.OpenAI(base_url=f"{tone.url}/v1", api_key="x") as client:
        create = client.audio.speech.with_streaming_response.create
        with create(
            input=TEXT, model="gpt-4o-mini-tts", voice="ash", response_format="pcm", instructions="Be kind."
        ) as answer:
            assert answer.status_code == 200
            frames = [chunk for chunk in answer.iter_bytes(1024) if chunk]
    assert len(b"".join(frames)) == 2 * N_SAMPLES
    # "ash" is the second of OpenAI's names, so the second voice.
    _, voices = tone.get("/v1/audio/voices")
    default = answer.headers["x-voice"]
    assert default in {voice["id"] for voice in voices["voices"]}
    assert b"".join(frames) == tone.pcm(TEXT, voice=default)


@pytest.mark.parametrize("stream", [True, False])
def test_pipecat_cuts_44_bytes_off_a_wav_and_plays_the_rest(tone: Service, stream: bool) -> None:
    answer, body = tone.speak(TEXT, response_format="wav", stream=stream)
    assert body.startswith(b"RIFF")
    assert body[44:] == tone.pcm(TEXT)
    assert answer.headers["X-Sample-Rate"] == "24000"


@pytest.mark.parametrize("response_format", ["pcm", "mp3", "opus"])
def test_livekit_decodes_the_events_of_a_stream(tone: Service, response_format: str) -> None:
    audio, usage = bytearray(), None
    with openai.OpenAI(base_url=f"{tone.url}/v1", api_key="x") as client:
        create = client.audio.speech.with_streaming_response.create
        with create(
            input=TEXT,
            model="gpt-4o-mini-tts",
            voice="ash",
            response_format=response_format,  # type: ignore[arg-type]
            speed=1.0,
            stream_format="sse",
        ) as answer:
            for line in answer.iter_lines():
                if not line.startswith("data:"):
                    continue
                event = json.loads(line[5:])
                if event["type"] == "speech.audio.delta":
                    audio += base64.b64decode(event["audio"])
                elif event["type"] == "speech.audio.done":
                    usage = event["usage"]
    assert bytes(audio) == tone.speak(TEXT, response_format=response_format, voice="ash")[1]
    assert usage is not None
    assert usage["input_tokens"] == len(TEXT)


def test_livekit_is_told_of_a_failure_on_the_way(tone: Service) -> None:
    text = "a" * 100 + "[[fail at=2]]"
    _, body = tone.speak(text, voice="hz400", stream_format="sse", response_format="pcm")
    types = [json.loads(line[6:])["type"] for line in body.decode().splitlines() if line.startswith("data: ")]
    assert types[0] == "speech.audio.delta"
    assert types[-1] == "error"
    assert "speech.audio.done" not in types


def test_an_event_source_of_a_browser_gets_events_by_its_accept_header(tone: Service) -> None:
    path = "/v1/audio/speech?input=Hello&response_format=pcm"
    status, body, headers = tone.request("GET", path, None, {"Accept": "text/event-stream"})
    assert (status, headers["Content-Type"]) == (200, "text/event-stream; charset=utf-8")
    assert body.count(b"\n\n") == body.count(b"data: ") >= 2


def test_a_link_plays_in_parts_and_its_text_is_in_no_log(tone: Service) -> None:
    path = "/v1/audio/speech?input=A%20secret%20sentence.&voice=hz500"
    status, _, head = tone.request("HEAD", path)
    assert status == 200
    assert "Content-Length" not in head
    status, whole, headers = tone.request("GET", path)
    assert headers["ETag"] == head["ETag"]
    assert whole[44:] == tone.pcm("A secret sentence.", voice="hz500")
    status, part, _ = tone.request("GET", path, None, {"Range": "bytes=44-1043", "If-Range": head["ETag"]})
    assert (status, part) == (206, whole[44:1044])
    status, nothing, _ = tone.request("GET", path, None, {"If-None-Match": head["ETag"]})
    assert (status, nothing) == (304, b"")
    host = urlsplit(tone.url).netloc
    connection = http.client.HTTPConnection(host, timeout=10)
    connection.request("HEAD", path)
    assert connection.getresponse().read() == b""
    # The connection goes on: nobody waits for a body that does not come.
    connection.request("GET", "/health")
    assert connection.getresponse().status == 200
    connection.close()
    assert "secret" not in tone.text_of_log()
