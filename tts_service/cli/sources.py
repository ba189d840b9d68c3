"""Where `say` gets its PCM from: a server, or workers that it starts for itself. Runs on the main thread."""

from __future__ import annotations

import http.client
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tts_service.cli.own_workers import TIMEOUT_S, own_workers, texts_of, utterance_of
from tts_service.errors import Code, RequestFailed, Unavailable
from tts_service.gateway.budget import AudioBudget
from tts_service.gateway.delivery import pcm_of
from tts_service.gateway.finishing import Finishing
from tts_service.gateway.pcm import Int16
from tts_service.gateway.speech import Speech
from tts_service.http_client import Connection
from tts_service.settings import Loaded
from tts_service.text.segment import SegmentText

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Pcm:
    """PCM and its rate."""

    rate_hz: int
    chunks: Iterator[Int16]


@contextmanager
def from_server(url: str, fields: dict[str, Any]) -> Iterator[Pcm]:
    """Ask the server at `url`. RequestFailed with the server's words where it refuses."""
    with Connection(url, TIMEOUT_S) as connection:
        answer = connection.post("/v1/audio/speech", fields | {"response_format": "pcm", "stream": True})
        if answer.status != 200:
            raise refusal(answer.body(), answer.status)
        yield Pcm(int(answer.headers["X-Sample-Rate"]), _samples(answer.chunks(), url))


@contextmanager
def from_own_workers(loaded: Loaded, config: Path | None, fields: dict[str, Any], progress: Progress) -> Iterator[Pcm]:
    """Start workers as a service would, and speak with them: the bytes are those of a server with these settings."""
    with own_workers(loaded, config) as own:
        settings = loaded.settings.gateway
        utterance = utterance_of(fields, own.client, settings)
        texts = texts_of(utterance, settings)
        budget = AudioBudget(settings.audio_budget_mib << 20)
        channel = own.client.open("say")
        speech = Speech(utterance, _counted(texts, progress), channel, settings, budget, own.check)
        yield Pcm(utterance.sample_rate_hz, pcm_of(speech, Finishing.of(utterance)))
        progress(len(texts), len(texts))


def _counted(texts: list[SegmentText], progress: Progress) -> Iterator[SegmentText]:
    for n, text in enumerate(texts):
        progress(n, len(texts))
        yield text


def refusal(body: bytes, status: int) -> RequestFailed:
    """Return the error that a server answered with."""
    try:
        error = msgspec.json.decode(body)["error"]
        return RequestFailed(Code(error["code"]), error["message"])
    except (msgspec.DecodeError, KeyError, TypeError, ValueError):
        return RequestFailed(Code.INTERNAL, f"the server answered with status {status}")


def _samples(chunks: Iterator[bytes], url: str) -> Iterator[Int16]:
    """Yield whole samples from a body that may be cut anywhere."""
    rest = b""
    try:
        for chunk in chunks:
            data = rest + chunk
            whole = len(data) // 2 * 2
            rest = data[whole:]
            yield np.frombuffer(data[:whole], "<i2")
    except (http.client.HTTPException, OSError) as error:
        raise Unavailable(f"the server at {url} broke off in the middle of the audio: {error!r}") from error
