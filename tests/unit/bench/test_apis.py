"""The clients of each API against small servers that answer, and fail, as the real ones do."""

from __future__ import annotations

import http.client
from typing import Any

import pytest

from support.json_server import serving
from support.raw_server import answering, refusing_port
from support.wav_bytes import wav
from support.wyoming_server import FORMAT, event, speaking, spoken
from tts_service.bench.apis import APIS, check_answers, wanted_of, whole_wav
from tts_service.bench.http_speakers import openai_fields
from tts_service.bench.speaker import SpeechFailed, Wanted
from tts_service.errors import Unavailable, UsageError


def seconds_of(api: str, url: str, wanted: Wanted | None = None, *, n: int = 1) -> list[float]:
    """Return the audio of each of `n` answers on one connection."""
    speaker = APIS[api].make(url, wanted or wanted_of(api, None, None), 5.0)
    try:
        return [sum(speaker.speak("Hello.")) for _ in range(n)]
    finally:
        speaker.close()


def answer(body: bytes, headers: str = "", status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [("", 1.0), ("X-Sample-Rate: 16000\r\n", 1.5), ("Content-Type: audio/pcm;rate=12000;channels=1\r\n", 2.0)],
)
def test_pcm_of_an_openai_server_has_the_rate_it_says_or_openais(headers: str, seconds: float) -> None:
    with answering(answer(bytes(48000), headers)) as server:
        assert seconds_of("openai", server.url) == [pytest.approx(seconds)]


@pytest.mark.parametrize(
    ("base", "path"), [("", b"POST /v1/audio/speech "), ("/v1", b"POST /v1/audio/speech "), ("/x", b"POST /x/v1/audio")]
)
def test_an_openai_server_may_be_named_with_or_without_the_version(base: str, path: bytes) -> None:
    with answering(answer(bytes(480))) as server:
        seconds_of("openai", server.url + base)
    assert server.request.startswith(path)


def test_only_fields_of_openai_are_sent_unless_more_is_wanted() -> None:
    assert openai_fields(Wanted()) == {"response_format": "pcm"}
    assert openai_fields(Wanted("wav", streamed=False)) == {"response_format": "wav"}
    assert openai_fields(Wanted("wav", streamed=True)) == {"response_format": "wav", "stream": True}
    wanted = Wanted("mp3", False, "joe", "tts-1", {"sample_rate": "native"})
    expected = {"response_format": "mp3", "stream": False, "voice": "joe", "model": "tts-1", "sample_rate": "native"}
    assert openai_fields(wanted) == expected


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (answer(b"no voice", status="404 Not Found"), "status 404: no voice"),
        (answer(b""), "an empty body"),
    ],
)
def test_an_openai_server_that_fails_says_so(raw: bytes, words: str) -> None:
    with answering(raw) as server, pytest.raises(SpeechFailed, match=words):
        seconds_of("openai", server.url)


def test_an_answer_that_is_cut_short_is_no_answer() -> None:
    with (
        answering(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nabcd") as server,
        pytest.raises(http.client.IncompleteRead),
    ):
        seconds_of("openai", server.url)


@pytest.mark.parametrize("api", ["piper-http", "plain"])
def test_a_wav_that_is_shorter_than_it_says_is_no_answer(api: str) -> None:
    with answering(answer(wav(1600)[:-100])) as server, pytest.raises(SpeechFailed, match="lacks 100 bytes"):
        seconds_of(api, server.url)


def test_pipers_server_is_asked_at_its_path_and_old_ones_at_theirs() -> None:
    with answering(answer(wav(1600))) as server:
        assert seconds_of("piper-http", server.url, Wanted("wav", False, "joe")) == [pytest.approx(0.1)]
    assert server.request.startswith(b"POST /synthesize ")
    assert server.request.endswith(b'{"text": "Hello.", "voice": "joe"}')
    with serving([(405, b"not here"), (200, wav(1600))]) as old:
        assert seconds_of("piper-http", old.url, n=2) == [pytest.approx(0.1)] * 2
        assert old.n_requests == 3


def test_a_failure_inside_pipers_server_is_told() -> None:
    with (
        serving([(500, b"<title>500 Internal Server Error")]) as server,
        pytest.raises(SpeechFailed, match="500 Inter"),
    ):
        seconds_of("piper-http", server.url)


def test_a_plain_server_gets_the_bare_text() -> None:
    with answering(answer(wav(3200))) as server:
        assert seconds_of("plain", server.url + "/tts") == [pytest.approx(0.2)]
    assert server.request.startswith(b"POST /tts ")
    assert server.request.endswith(b"Hello.")


@pytest.mark.parametrize("inline", [False, True], ids=["apart", "inline"])
def test_a_wyoming_server_speaks_one_text_after_the_other_on_one_connection(inline: bool) -> None:
    with speaking(spoken(0.5, inline=inline), spoken(1.0, inline=inline)) as server:
        assert seconds_of("wyoming", server.url, Wanted(voice="joe"), n=2) == pytest.approx([0.5, 1.0])
        assert server.n_connections == 1
    assert server.asked[0] == {"type": "synthesize", "text": "Hello.", "voice": {"name": "joe"}}


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "broke off"),
        (spoken(0.5)[:-30], "broke off"),
        (spoken(0.5)[:4000], "broke off"),
        (event("error", {"text": "no such voice"}), "no such voice"),
        (event("audio-stop"), "without audio"),
        (
            event("audio-start", FORMAT) + event("audio-chunk", {"rate": 0, "width": 2, "channels": 1}, b"ab"),
            "rate, wid",
        ),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "not the Wyoming protocol"),
        (b'{"type": "audio-chunk", "payload_length": 99999999999}\n', "not the Wyoming protocol"),
        (b"[1]\n", "not the Wyoming protocol"),
    ],
)
def test_a_wyoming_server_that_fails_or_ends_is_told(raw: bytes, words: str) -> None:
    with speaking(raw) as server, pytest.raises(SpeechFailed, match=words):
        seconds_of("wyoming", server.url)


@pytest.mark.parametrize("api", list(APIS))
def test_a_server_that_is_not_there_is_unavailable(api: str) -> None:
    url = f"{'tcp' if api == 'wyoming' else 'http'}://127.0.0.1:{refusing_port()}"
    with pytest.raises(Unavailable, match="no server answers at"):
        seconds_of(api, url)
    with pytest.raises(Unavailable, match="no server answers at"):
        check_answers(api, url)


@pytest.mark.parametrize(("api", "url"), [("openai", "tcp://h:1"), ("wyoming", "http://h:1"), ("wyoming", "tcp://h")])
def test_a_url_of_another_kind_is_refused(api: str, url: str) -> None:
    with pytest.raises(UsageError, match="expected something like"):
        check_answers(api, url)


@pytest.mark.parametrize(
    ("api", "given", "wanted"),
    [
        ("openai", (None, None), ("pcm", True)),
        ("openai", ("wav", False), ("wav", False)),
        ("piper-http", (None, None), ("wav", False)),
        ("wyoming", ("pcm", True), ("pcm", True)),
    ],
)
def test_what_is_not_said_is_what_is_usual_with_the_api(api: str, given: Any, wanted: Any) -> None:
    found = wanted_of(api, *given, Wanted(voice="joe"))
    assert (found.response_format, found.streamed, found.voice) == (*wanted, "joe")


@pytest.mark.parametrize(
    ("api", "given", "words"),
    [
        ("piper-http", ("mp3", None), "--format mp3: a server of the API piper-http answers with wav"),
        ("piper-http", (None, True), "--streamed: a server of the API piper-http does not stream"),
        ("wyoming", (None, False), "--buffered: a server of the API wyoming always streams"),
    ],
)
def test_what_an_api_does_not_have_is_refused(api: str, given: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        wanted_of(api, *given)


def test_a_whole_file_is_a_wav_where_there_is_one() -> None:
    assert [(w.response_format, w.streamed) for w in (whole_wav(api, Wanted()) for api in ("openai", "wyoming"))] == [
        ("wav", False),
        ("pcm", True),
    ]
