"""Speech servers with HTTP: OpenAI-style, piper-tts's own, and those that take a bare text."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator
from email.message import Message
from typing import Any

from tts_service.bench.audio_count import Count, NoCount, PcmCount, WavCount
from tts_service.bench.speaker import SpeechFailed, Wanted
from tts_service.http_client import Answer, Connection

# Of an answer in pcm that does not say it: OpenAI's.
OPENAI_RATE_HZ = 24000
MAX_SHOWN_BYTES = 200


class OpenAiSpeaker:
    """POST /v1/audio/speech."""

    def __init__(self, url: str, wanted: Wanted, timeout_s: float) -> None:
        self._connection = Connection(url, timeout_s)
        # Users of the SDKs name servers with the version.
        self._path = "/audio/speech" if url.rstrip("/").endswith("/v1") else "/v1/audio/speech"
        self._wanted = wanted
        self._fields = openai_fields(wanted)

    def speak(self, text: str) -> Iterator[float]:
        """See Speaker."""
        answer = self._connection.post(self._path, {"input": text, **self._fields})
        yield from listen(answer, self._wanted.response_format)

    def close(self) -> None:
        """See Speaker."""
        self._connection.close()


class PiperSpeaker:
    """piper-tts's http_server: POST /synthesize (1.4 and later) or / (before), JSON; a WAV in one piece."""

    def __init__(self, url: str, wanted: Wanted, timeout_s: float) -> None:
        self._connection = Connection(url, timeout_s)
        self._path = "/synthesize"
        self._fields = {"voice": wanted.voice} if wanted.voice else {}

    def speak(self, text: str) -> Iterator[float]:
        """See Speaker."""
        answer = self._connection.post(self._path, {"text": text, **self._fields})
        if answer.status in (404, 405) and self._path != "/":
            answer.body()
            self._path = "/"
            answer = self._connection.post(self._path, {"text": text, **self._fields})
        yield from listen(answer, "wav")

    def close(self) -> None:
        """See Speaker."""
        self._connection.close()


class PlainSpeaker:
    """POST of the bare text to the URL as it stands; a WAV comes back."""

    def __init__(self, url: str, wanted: Wanted, timeout_s: float) -> None:
        self._connection = Connection(url, timeout_s)

    def speak(self, text: str) -> Iterator[float]:
        """See Speaker."""
        yield from listen(self._connection.post_text("", text), "wav")

    def close(self) -> None:
        """See Speaker."""
        self._connection.close()


def openai_fields(wanted: Wanted) -> dict[str, Any]:
    """Return the body of a request, but for its text.

    `stream` is no field of OpenAI's: it is sent only where it is not what our server does by itself.
    """
    fields: dict[str, Any] = {"response_format": wanted.response_format}
    if wanted.streamed != (wanted.response_format != "wav"):
        fields["stream"] = wanted.streamed
    if wanted.voice:
        fields["voice"] = wanted.voice
    if wanted.model:
        fields["model"] = wanted.model
    return fields | wanted.fields


def listen(answer: Answer, response_format: str) -> Iterator[float]:
    """Yield the seconds of each piece of an answer as it comes; SpeechFailed where it is none that is whole."""
    if answer.status != http.client.OK:
        raise SpeechFailed(f"status {answer.status}: {answer.body()[:MAX_SHOWN_BYTES].decode(errors='replace')}")
    count = _count(response_format, answer.headers)
    n_bytes = 0
    for data in answer.chunks():
        n_bytes += len(data)
        seconds = count.seconds(data)
        if seconds or isinstance(count, NoCount):
            yield seconds
    if not n_bytes:
        # A server that has sent its status already can only tell a failure so.
        raise SpeechFailed("an empty body")
    count.end()


def _count(response_format: str, headers: Message) -> Count:
    if response_format == "wav":
        return WavCount()
    if response_format != "pcm":
        return NoCount()
    said = headers.get("X-Sample-Rate") or headers.get("Content-Type") or ""
    found = re.fullmatch(r"\d+", said) or re.search(r"(?<=rate=)\d+", said)
    return PcmCount(int(found.group()) if found and int(found.group()) else OPENAI_RATE_HZ)
