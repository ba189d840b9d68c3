"""Server-sent events with an encoder's bytes in base64, as OpenAI's clients read them. One object a request."""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from tts_service.errors import RequestFailed
from tts_service.gateway.delivered_words import DeliveredWord, DeliveredWords
from tts_service.gateway.encoders.base import Encoder
from tts_service.gateway.pcm import Int16

# Nobody counts tokens here; OpenAI's audio has one for each 50 ms.
TOKENS_PER_S = 20


class EventEncoder(Encoder):
    """`speech.audio.delta` for each piece of audio, then `speech.audio.done`; `error` where no more can come.

    With `words`, `speech.audio.words` goes before the delta with the ends of these words.
    """

    def __init__(self, coded: Encoder, n_characters: int, words: DeliveredWords | None = None) -> None:
        super().__init__(coded.rate_hz)
        self._coded = coded
        self._n_characters = n_characters
        self._n_samples = 0
        self.max_samples = coded.max_samples
        self.words = words

    @property
    def content_type(self) -> str:
        return "text/event-stream; charset=utf-8"

    def begin(self, n_samples: int | None) -> bytes:
        return _delta(self._coded.begin(n_samples))

    def failure(self, error: RequestFailed) -> bytes:
        kind = "invalid_request_error" if error.code.status < 500 else "server_error"
        about = {"message": error.message, "type": kind, "param": error.param or None, "code": error.code}
        return b"event: error\n" + _event({"type": "error", "error": about})

    def _code(self, pcm: Int16) -> bytes:
        self._n_samples += len(pcm)
        found = self.words.reached(self._n_samples) if self.words else []
        return self._told(found) + _delta(self._coded.encode(pcm))

    def _flush(self) -> bytes:
        n_tokens = round(TOKENS_PER_S * self._n_samples / self.rate_hz)
        usage = {
            "input_tokens": self._n_characters,
            "output_tokens": n_tokens,
            "total_tokens": self._n_characters + n_tokens,
        }
        found = self.words.rest(self._n_samples) if self.words else []
        return self._told(found) + _delta(self._coded.end()) + _event({"type": "speech.audio.done", "usage": usage})

    def _told(self, found: list[DeliveredWord]) -> bytes:
        if self.words is None or not found:
            return b""
        return _event({"type": "speech.audio.words", "words": [self.words.timed(word) for word in found]})

    def _release(self) -> None:
        self._coded.close()


def _delta(data: bytes) -> bytes:
    if not data:
        return b""
    return _event({"type": "speech.audio.delta", "audio": base64.b64encode(data).decode("ascii")})


def _event(value: dict[str, Any]) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"
