"""Where `say` gets its PCM from: a server, or workers that it starts for itself. Runs on the main thread."""

from __future__ import annotations

import http.client
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tts_service.cli.halves import Half, child_environment
from tts_service.errors import CannotStart, Code, RequestFailed, Unavailable
from tts_service.gateway.body import read_body
from tts_service.gateway.budget import AudioBudget
from tts_service.gateway.client import DispatcherClient
from tts_service.gateway.delivery import pcm_of
from tts_service.gateway.pcm import Int16, PcmStream
from tts_service.gateway.segments import check_scripts, segments
from tts_service.gateway.speech import Speech
from tts_service.gateway.utterance import Utterance, resolve
from tts_service.http_client import Connection
from tts_service.runtime_dir import RuntimeDir
from tts_service.settings import Loaded
from tts_service.settings.schema import MAX_TEXT_CHARS

TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 15.0

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
            raise _refusal(answer.body(), answer.status)
        yield Pcm(int(answer.headers["X-Sample-Rate"]), _samples(answer.chunks(), url))


@contextmanager
def from_own_workers(loaded: Loaded, config: Path | None, fields: dict[str, Any], progress: Progress) -> Iterator[Pcm]:
    """Start workers as a service would, and speak with them: the bytes are those of a server with these settings."""
    with tempfile.TemporaryDirectory(prefix="tts-say-") as directory:
        runtime_dir = RuntimeDir(Path(directory) / "run")
        runtime_dir.prepare()
        half = Half("workers", [], _quiet(child_environment(loaded, config, runtime_dir)))
        client = DispatcherClient(runtime_dir.gateway_endpoint, TIMEOUT_S, lambda message: None)
        client.start()
        try:
            _wait_for_workers(half, client)
            utterance = _resolve(fields, client, loaded)
            settings = loaded.settings.gateway
            longest = min(settings.segment_chars, utterance.pool.engine.max_segment_chars)
            texts = list(segments(utterance.text, utterance.language, longest))
            if not texts:
                raise RequestFailed(Code.NOTHING_TO_SPEAK, "the text has nothing to speak in it")
            speech = Speech(
                utterance,
                _counted(texts, progress),
                client.open("say"),
                settings,
                AudioBudget(settings.audio_budget_mib << 20),
                lambda: _check_half(half),
            )
            stream = PcmStream(utterance.pool.engine.sample_rate_hz, utterance.sample_rate_hz)
            yield Pcm(utterance.sample_rate_hz, pcm_of(speech, stream))
            progress(len(texts), len(texts))
        finally:
            client.close()
            half.stop(STOP_TIMEOUT_S)


def _resolve(fields: dict[str, Any], client: DispatcherClient, loaded: Loaded) -> Utterance:
    body = read_body(msgspec.json.encode(fields), MAX_TEXT_CHARS)
    utterance = resolve(body, list(client.pools.values()), loaded.settings.gateway.sample_rate_hz)
    check_scripts(utterance.text, utterance.pool.engine.scripts, utterance.voice)
    return utterance


def _wait_for_workers(half: Half, client: DispatcherClient) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not client.pools:
        _check_half(half)
        if time.monotonic() > deadline:
            raise Unavailable(f"no worker was ready after {TIMEOUT_S:.0f} s")
        time.sleep(0.02)


def _check_half(half: Half) -> None:
    if half.tend(time.monotonic()) is not None:
        raise CannotStart("the workers cannot be started; see above")


def _counted(texts: list[str], progress: Progress) -> Iterator[str]:
    for n, text in enumerate(texts):
        progress(n, len(texts))
        yield text


def _quiet(environment: dict[str, str]) -> dict[str, str]:
    """Keep the terminal for the progress bar and for errors, unless the user wants to see more."""
    return {"TTS_SERVICE_SERVICE_LOG_LEVEL": os.environ.get("TTS_SERVICE_SERVICE_LOG_LEVEL", "error")} | {
        name: value for name, value in environment.items() if name != "TTS_SERVICE_SERVICE_LOG_LEVEL"
    }


def _refusal(body: bytes, status: int) -> RequestFailed:
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
