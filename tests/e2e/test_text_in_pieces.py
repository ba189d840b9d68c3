"""Text in pieces over a WebSocket: with the real elevenlabs SDK, in the shapes of Pipecat and LiveKit, and raw."""

from __future__ import annotations

import base64
import json
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from elevenlabs.client import ElevenLabs
from websockets.exceptions import ConnectionClosed, InvalidStatus

from support.service import Service, running, wait_until
from support.ws_client import Speaking, speaking

pytestmark = pytest.mark.system

PIECES = ["Hello the", "re. How are", " you today? I am ", "fine, thank you. And", " so on."]
TEXT = "".join(PIECES)


def n_places_taken(service: Service) -> int:
    """Return how many speech requests are in progress."""
    return int(service.get("/workers")[1]["dispatcher"]["requests"])


def heard_to_the_end(talk: Speaking) -> int:
    """Hear until the server closes the connection; return its code."""
    try:
        while True:
            talk.hear()
    except ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd else 1006


@pytest.mark.parametrize("engine", ["tone", "hibari"])
def test_the_real_sdk_hears_the_bytes_of_one_post(engine: str, request: pytest.FixtureRequest) -> None:
    service: Service = request.getfixturevalue(engine)
    voice = {"tone": "hz500", "hibari": "heart"}[engine]
    sdk = ElevenLabs(api_key="anything", base_url=service.url)
    # The SDK makes wss of whatever it is given.
    sdk.text_to_speech._ws_base_url = service.url.replace("http://", "ws://")
    heard = sdk.text_to_speech.convert_realtime(
        voice, text=iter(PIECES), model_id="eleven_flash_v2_5", output_format="pcm_24000"
    )
    # It puts a space after each of its pieces, so that "the" and "re" are one word for it and "fine," another.
    assert b"".join(heard) == service.pcm(TEXT + " ", voice=voice)
    mp3 = b"".join(sdk.text_to_speech.convert_realtime(voice, text=iter(["Good morning."])))
    assert mp3[:2] in (b"\xff\xfb", b"\xff\xf3")


def test_audio_of_a_sentence_comes_before_the_text_goes_on(hibari: Service) -> None:
    with speaking(hibari, "heart") as talk:
        talk.say(text=" ", voice_settings={"stability": 0.5, "speed": 1.0})
        talk.say(text="Hello there. How ")
        first = hibari.pcm("Hello there.", voice="heart")
        while len(talk.audio.get(None, b"")) < 0.9 * len(first):
            assert talk.hear()["isFinal"] is False
        talk.say(text="are you?")
        talk.say(text="", flush=True)
        assert heard_to_the_end(talk) == 1000
        assert talk.finals == [None]
        assert talk.audio[None] == hibari.pcm("Hello there. How are you?", voice="heart")


def test_flush_speaks_a_sentence_that_is_not_complete(tone: Service) -> None:
    with speaking(tone, "hz500") as talk:
        talk.say(text="Hello the", flush=True)
        talk.hear()
        assert talk.audio[None]
        talk.say(text="re.")
        talk.say(text="")
        talk.hear_final()
        assert talk.audio[None] == tone.pcm("Hello the", voice="hz500") + tone.pcm("re.", voice="hz500")


@pytest.mark.parametrize(
    ("output_format", "fields"),
    [
        ("pcm_16000", {"response_format": "pcm", "sample_rate": 16000}),
        ("pcm_8000", {"response_format": "pcm", "sample_rate": 8000}),
        ("mp3_24000_64", {"response_format": "mp3", "sample_rate": 24000}),
        ("ulaw_8000", {"response_format": "ulaw"}),
    ],
)
def test_output_formats_have_the_bytes_of_one_post(tone: Service, output_format: str, fields: dict[str, Any]) -> None:
    with speaking(tone, "hz500", output_format=output_format, seed=5) as talk:
        for piece in [*PIECES, ""]:
            talk.say(text=piece)
        assert talk.hear_final() == tone.speak(TEXT, voice="hz500", seed=5, **fields)[1]


def test_pipecat_s_turns_are_heard_and_its_interruptions_stop_the_work(paced: Service) -> None:
    turn = "One, two, three. Four, five, six."
    with speaking(paced, "hz500", "multi-stream-input", auto_mode="true", headers={"xi-api-key": "k"}) as talk:
        # A turn as it should be: init, text, flush, close.
        talk.say(text=" ", context_id="a", voice_settings={})
        talk.say(text=turn, context_id="a")
        talk.say(context_id="a", flush=True)
        talk.say(context_id="a", close_context=True)
        assert talk.hear_final("a") == paced.pcm(turn, voice="hz500")
        # Kept alive without a context, and with one.
        talk.say(text="")
        # An interruption: the context is closed in the middle of what it says.
        long_text = "This is a sentence that takes its time, as they do. " * 20
        talk.say(text=" ", context_id="b")
        talk.say(text=long_text, context_id="b")
        talk.hear()
        talk.say(context_id="b", close_context=True)
        talk.say(text=" ", context_id="c")
        talk.say(text="Yes?", context_id="c")
        talk.say(context_id="c", flush=True)
        talk.say(context_id="c", close_context=True)
        assert talk.hear_final("c") == paced.pcm("Yes?", voice="hz500")
        assert talk.finals == ["a", "b", "c"]
        assert len(talk.audio["b"]) < 0.5 * 2 * 24000 * 0.06 * len(long_text)
        paced.wait_idle(2.0)
        talk.say(close_socket=True)
        assert heard_to_the_end(talk) == 1000


def test_livekit_s_contexts_on_one_connection_do_not_wait_for_each_other(tone: Service) -> None:
    with speaking(tone, "hz500", "multi-stream-input", inactivity_timeout=180) as talk:
        for name in ("x", "y"):
            talk.say(text=" ", context_id=name, voice_settings={}, generation_config={"chunk_length_schedule": [50]})
        # The first one is in the middle of a sentence for as long as the second one speaks.
        talk.say(text="Hello ", context_id="x")
        talk.say(text="All at once. ", context_id="y")
        talk.say(text="", context_id="y", flush=True)
        talk.say(context_id="y", close_context=True)
        assert talk.hear_final("y") == tone.pcm("All at once.", voice="hz500")
        talk.say(text="there. ", context_id="x")
        talk.say(text="", context_id="x", flush=True)
        talk.say(context_id="x", close_context=True)
        assert talk.hear_final("x") == tone.pcm("Hello there.", voice="hz500")


def test_a_context_s_error_leaves_the_others_alone(hibari: Service) -> None:
    with speaking(hibari, "heart", "multi-stream-input") as talk:
        talk.say(text="Good ", context_id="good")
        talk.say(text="\u0416\u0443\u043a ", context_id="bad")
        while not talk.errors:
            talk.hear()
        (error,) = talk.errors
        assert (error["contextId"], error["error"], error["code"]) == ("bad", "unsupported_text", 1008)
        talk.say(text="morning.", context_id="good", flush=True)
        talk.say(context_id="good", close_context=True)
        assert talk.hear_final("good") == hibari.pcm("Good morning.", voice="heart")


def test_a_connection_that_ends_without_a_word_frees_its_slots_and_its_place(paced: Service) -> None:
    for ending in ("close", "abort"):
        with speaking(paced, "hz500") as talk:
            talk.say(text="A long story that nobody wants to hear in the end. " * 30, flush=True)
            talk.hear()
            if ending == "abort":
                talk.socket.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                talk.socket.socket.close()
        paced.wait_idle(3.0)
        wait_until(lambda: n_places_taken(paced) == 0, 5.0, "its place is free")
    assert re.search(r"outcome=client_gone .*format=pcm", paced.text_of_log())


@pytest.mark.parametrize(
    ("sent", "code", "words"),
    [
        ("{", 1008, "not valid JSON"),
        ('{"text": 5}', 1008, "text"),
        (b"\0\1\2", 1003, "binary"),
        ('{"text": "' + "x" * (1 << 20) + '"}', 1009, "longer than 1048576"),
        ('{"text": " ", "voice_settings": {"speed": 4.5}}', 1008, "speed"),
    ],
    ids=["no JSON", "wrong type", "binary", "too long", "speed"],
)
def test_what_cannot_be_understood_is_told_and_ends_the_connection(
    hibari: Service, sent: str | bytes, code: int, words: str
) -> None:
    with speaking(hibari, "heart") as talk:
        talk.socket.send(sent)
        assert heard_to_the_end(talk) == code
        (error,) = talk.errors
        assert words in error["message"]
        assert error["code"] == code
    wait_until(lambda: n_places_taken(hibari) == 0, 5.0, "its place is free")


def test_text_is_bounded(tone: Service) -> None:
    with speaking(tone, "hz500") as talk:
        for _ in range(11):
            talk.say(text="x" * 10_000)
        assert heard_to_the_end(talk) == 1008
        assert talk.errors[0]["error"] == "text_too_long"


def test_an_idle_connection_is_closed_with_a_reason(tone: Service) -> None:
    with speaking(tone, "hz500", inactivity_timeout=1) as talk:
        talk.say(text="Hello ")
        assert heard_to_the_end(talk) == 1008
        assert talk.errors[0]["param"] == "inactivity_timeout"


@pytest.mark.parametrize(
    ("voice", "query", "param"),
    [("nobody", {}, "voice"), ("hz500", {"output_format": "wav_1"}, "output_format"), ("hz500", {"seed": "x"}, "seed")],
)
def test_what_cannot_be_is_refused_before_there_is_a_websocket(
    tone: Service, voice: str, query: dict[str, str], param: str
) -> None:
    with pytest.raises(InvalidStatus) as caught, speaking(tone, voice, **query):
        pass
    assert caught.value.response.status_code == 400
    assert json.loads(caught.value.response.body)["error"]["param"] == param


def test_requests_that_are_no_handshake_get_a_json_error(tone: Service) -> None:
    path = "/v1/text-to-speech/hz500/stream-input"
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    for headers in ({}, upgrade, upgrade | {"Sec-WebSocket-Key": "x", "Sec-WebSocket-Version": "8"}):
        status, body, _ = tone.request("GET", path, headers=headers)
        assert status == 400, body
        assert "WebSocket" in body["error"]["message"]
    parts = urlsplit(tone.url)
    with socket.create_connection((str(parts.hostname), parts.port or 80), timeout=10) as raw:
        key = base64.b64encode(b"x" * 16).decode()
        lines = [f"GET {path} HTTP/1.0", "Host: x", *(f"{n}: {v}" for n, v in upgrade.items())]
        raw.sendall("\r\n".join([*lines, f"Sec-WebSocket-Key: {key}", "", ""]).encode())
        answer = raw.makefile("rb").read()
    assert answer.split(b" ", 2)[1] == b"400"
    assert b"HTTP/1.1" in answer.partition(b"\r\n\r\n")[2]
    wait_until(lambda: n_places_taken(tone) == 0, 5.0, "no place is taken")


def test_a_slow_reader_holds_nobody_up_and_hears_everything(tone: Service) -> None:
    text = "This is a sentence of some length, as they are. " * 40
    with speaking(tone, "hz500") as slow, speaking(tone, "hz600") as other:
        slow.say(text=text)
        slow.say(text="")
        other.say(text="Quick.")
        other.say(text="")
        assert other.hear_final() == tone.pcm("Quick.", voice="hz600")
        assert slow.hear_final() == tone.pcm(text, voice="hz500")


def test_a_service_that_stops_or_is_drained_sends_idle_connections_elsewhere() -> None:
    with running("--engine", "tone", "--workers", "1") as service:
        for end in ("drain", "stop"):
            with speaking(service, "hz500") as talk:
                talk.say(text="Hello ")
                wait_until(lambda: n_places_taken(service) == 1, 5.0, "its place is taken")
                if end == "drain":
                    command = [sys.executable, "-m", "tts_service", "drain", "--runtime-dir", str(service.runtime_dir)]
                    assert subprocess.run(command, timeout=30, check=False).returncode == 0
                else:
                    service.process.terminate()
                assert heard_to_the_end(talk) == 1001
            if end == "drain":
                assert subprocess.run([*command, "--undo"], timeout=30, check=False).returncode == 0
                wait_until(service.is_ready, 5.0, "open again")
        assert service.process.wait(15) == 0


def test_a_connection_needs_a_key_and_counts_against_its_limit_while_it_is_open(tmp_path: Path) -> None:
    keys = tmp_path / "keys.toml"
    keys.write_text('[agent]\nkey = "tts-0123456789abcdef"\nmax_in_flight = 1\n')
    keys.chmod(0o600)
    env = {"TTS_SERVICE_GATEWAY_API_KEYS_FILE": str(keys)}
    key = {"xi-api-key": "tts-0123456789abcdef"}
    with running("--engine", "tone", "--workers", "1", env=env) as service:
        with speaking(service, "hz500", headers=key) as talk:
            for headers, status in (({}, 401), ({"xi-api-key": "wrong"}, 401), (key, 429)):
                with pytest.raises(InvalidStatus) as caught, speaking(service, "hz500", headers=headers):
                    pass
                assert caught.value.response.status_code == status
            talk.say(text="Hello.")
            talk.say(text="")
            assert talk.hear_final()
            assert heard_to_the_end(talk) == 1000

        def is_let_in() -> bool:
            try:
                with speaking(service, "hz500", headers=key):
                    return True
            except InvalidStatus:
                return False

        wait_until(is_let_in, 5.0, "its place is free")
        assert " key=agent " in service.text_of_log()
