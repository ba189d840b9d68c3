"""Answers that say when words are heard: JSON with the audio in it, and captions. One object a request."""

from __future__ import annotations

import base64
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from tts_service.gateway.cues import cues_of, srt, vtt
from tts_service.gateway.delivered_words import DeliveredWords, TimedWord
from tts_service.gateway.encoders.base import Encoder
from tts_service.gateway.encoders.formats import Format
from tts_service.gateway.pcm import Int16


class SpeechWithWords(msgspec.Struct, frozen=True):
    """An answer with response_format json."""

    audio: Annotated[str, Meta(description="The bytes of a file, in base64.")]
    format: Annotated[Format, Meta(description="What audio_format said.")]
    sample_rate: Annotated[int, Meta(ge=8000, le=48000, description="In Hz.")]
    duration_s: Annotated[float, Meta(ge=0, description="When the last sample that was spoken is over.")]
    words: list[TimedWord]


class JsonEncoder(Encoder):
    """One JSON object; its audio is coded as it comes."""

    def __init__(self, coded: Encoder, words: DeliveredWords, audio_format: Format) -> None:
        super().__init__(coded.rate_hz)
        self.words = self._words = words
        self.max_samples = coded.max_samples
        self._coded = coded
        self._format: Format = audio_format
        self._n_samples = 0

    @property
    def content_type(self) -> str:
        return "application/json"

    def begin(self, n_samples: int | None) -> bytes:
        return self._coded.begin(n_samples)

    def whole(self, data: bytes) -> bytes:
        words = self._words
        answer = SpeechWithWords(
            audio=base64.b64encode(data).decode("ascii"),
            format=self._format,
            sample_rate=self.rate_hz,
            duration_s=words.seconds(self._n_samples),
            words=[words.timed(found) for found in words.rest(self._n_samples)],
        )
        return msgspec.json.encode(answer)

    def _code(self, pcm: Int16) -> bytes:
        self._n_samples += len(pcm)
        return self._coded.encode(pcm)

    def _flush(self) -> bytes:
        return self._coded.end()

    def _release(self) -> None:
        self._coded.close()


class CaptionEncoder(Encoder):
    """Captions of audio that is made, and not sent."""

    def __init__(self, rate_hz: int, words: DeliveredWords, kind: Literal["srt", "vtt"], *, ssml: bool) -> None:
        super().__init__(rate_hz)
        self.words = self._words = words
        self._kind = kind
        self._ssml = ssml
        self._n_samples = 0

    @property
    def content_type(self) -> str:
        return "text/vtt; charset=utf-8" if self._kind == "vtt" else "application/x-subrip; charset=utf-8"

    def _code(self, pcm: Int16) -> bytes:
        self._n_samples += len(pcm)
        return b""

    def _flush(self) -> bytes:
        duration_s = self._words.seconds(self._n_samples)
        found = self._words.rest(self._n_samples)
        cues = cues_of(found, self._words.text, duration_s, ssml=self._ssml)
        # What of a text cannot be written as UTF-8 has not been spoken, either.
        return (vtt(cues) if self._kind == "vtt" else srt(cues)).encode("utf-8", "replace")
