"""The table of APIs that `bench --api` can talk to. A new one is a class like speaker.Speaker, and a line here."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from tts_service.bench.http_speakers import OpenAiSpeaker, PiperSpeaker, PlainSpeaker
from tts_service.bench.speaker import Speaker, Wanted
from tts_service.bench.wyoming_speaker import WyomingSpeaker, address_of
from tts_service.errors import Unavailable, UsageError

CONNECT_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Api:
    """One kind of server."""

    make: Callable[[str, Wanted, float], Speaker]
    formats: tuple[str, ...]
    """What it can answer with, its usual one first."""
    streamed: bool | None
    """Whether audio comes while it is made; None where a request says so."""
    summary: str


APIS = {
    "openai": Api(
        OpenAiSpeaker, ("pcm", "wav", "mp3"), None, "POST /v1/audio/speech, as of OpenAI, ours and many others"
    ),
    "tts-server": Api(OpenAiSpeaker, ("pcm", "wav"), None, "the same, as of qwentts.cpp and TTS.cpp"),
    "piper-http": Api(PiperSpeaker, ("wav",), False, "python -m piper.http_server"),
    "wyoming": Api(WyomingSpeaker, ("pcm",), True, "wyoming-piper and others, at tcp://host:port"),
    "plain": Api(PlainSpeaker, ("wav",), False, "POST of the bare text to the URL, answered by a WAV"),
}


def wanted_of(api: str, response_format: str | None, streamed: bool | None, base: Wanted | None = None) -> Wanted:
    """Return what to ask for: `None` is what is usual with this API. UsageError where it cannot be had."""
    kind = APIS[api]
    if response_format not in (None, *kind.formats):
        raise UsageError(
            f"--format {response_format}: a server of the API {api} answers with {', '.join(kind.formats)}"
        )
    if streamed is not None and kind.streamed not in (None, streamed):
        flag, does = ("--streamed", "does not stream") if streamed else ("--buffered", "always streams")
        raise UsageError(f"{flag}: a server of the API {api} {does}")
    base = base or Wanted()
    if streamed is None:
        streamed = True if kind.streamed is None else kind.streamed
    return Wanted(response_format or kind.formats[0], streamed, base.voice, base.model, base.fields)


def whole_wav(api: str, base: Wanted) -> Wanted:
    """Return a request for a file in one piece, or for what comes next to it with this API."""
    kind = APIS[api]
    response_format = "wav" if "wav" in kind.formats else kind.formats[0]
    return wanted_of(api, response_format, False if kind.streamed is None else kind.streamed, base)


def check_answers(api: str, url: str) -> None:
    """Raise Unavailable where nothing listens at the URL."""
    host, port = address_of(url) if api == "wyoming" else _http_address(url)
    try:
        socket.create_connection((host, port), CONNECT_TIMEOUT_S).close()
    except OSError as error:
        raise Unavailable(f"no server answers at {url}: {error.strerror or error}") from error


def _http_address(url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(url if "//" in url else f"http://{url}")
        if parts.scheme in ("http", "https") and parts.hostname:
            return parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        pass
    raise UsageError(f"--url {url}: expected something like http://127.0.0.1:8000")
