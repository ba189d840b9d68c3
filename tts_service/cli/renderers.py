"""How `render` has one phrase spoken into a cache: by workers of its own, or by a server. On its pool's threads."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tts_service.cli.audio_file import AudioFile
from tts_service.cli.own_workers import OwnWorkers, texts_of, utterance_of
from tts_service.cli.phrases import Phrase
from tts_service.cli.sources import refusal
from tts_service.errors import ClientGone, ExitCode, ProcessMustEnd, UsageError
from tts_service.gateway.budget import AudioBudget
from tts_service.gateway.delivery import pcm_of
from tts_service.gateway.encoders import make_encoder
from tts_service.gateway.finishing import Finishing
from tts_service.gateway.pcm import Float32, Int16
from tts_service.gateway.result_cache import ResultCache, Store
from tts_service.gateway.speech import Speech
from tts_service.http_client import Connection
from tts_service.protocol import Job, PoolInfo, Word
from tts_service.settings import GatewaySettings

TIMEOUT_S = 120.0
# A server that is busy is asked again so often, each time after as long as it says.
MAX_TRIES = 20


class CannotKeep(ProcessMustEnd):
    """What was rendered could not be kept: the rest would not be, either."""

    exit_code = ExitCode.CANNOT_WRITE


class Renderer(Protocol):
    """Has phrases spoken; called by several threads at a time."""

    n_evicted: int

    def render(self, phrase: Phrase, wav: Path | None) -> bool:
        """Speak a phrase, also into the file `wav`; return True where all of it was there already."""


class StrictCache(ResultCache):
    """A cache that does not go on silently when something cannot be kept."""

    def put(self, job: Job, pool: PoolInfo, samples: Float32, words: tuple[Word, ...] = ()) -> int:
        """See ResultCache. CannotKeep where it is not there afterwards."""
        # Another process may hold the directory for a moment.
        for _ in range(3):
            n_evicted = super().put(job, pool, samples, words)
            if self.get(job, pool) is not None:
                return n_evicted
        raise CannotKeep("a finished segment could not be kept: is the disk full, or gateway.cache_mib too small?")


class LocalRenderer:
    """Speaks by own workers into a cache of its own, which a server finds later."""

    def __init__(self, own: OwnWorkers, fields: dict[str, Any], settings: GatewaySettings, store: Store | None) -> None:
        self.n_evicted = 0
        self.stop = threading.Event()
        self._own = own
        self._fields = fields
        self._settings = settings
        self._cache = None if store is None else StrictCache(store)
        self._budget = AudioBudget(settings.audio_budget_mib << 20)
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def render(self, phrase: Phrase, wav: Path | None) -> bool:
        """See Renderer."""
        hit = self._speak(phrase, wav, stream=False)
        utterance = utterance_of(self._fields | {"input": phrase.text}, self._own.client, self._settings)
        if self._cache is None or utterance.pool.engine.mode_invariant:
            return hit
        return self._speak(phrase, None, stream=True) and hit

    def _speak(self, phrase: Phrase, wav: Path | None, *, stream: bool) -> bool:
        fields = self._fields | {"input": phrase.text, "stream": stream}
        utterance = utterance_of(fields, self._own.client, self._settings)
        texts = texts_of(utterance, self._settings)
        channel = self._own.client.open(f"render-{next(self._numbers)}")
        speech = Speech(utterance, iter(texts), channel, self._settings, self._budget, self._check, self._cache)
        try:
            _write(pcm_of(speech, Finishing.of(utterance)), utterance.sample_rate_hz, wav)
        finally:
            speech.close()
        with self._lock:
            self.n_evicted += speech.account.evictions
        return self._cache is not None and not speech.account.not_cached

    def _check(self) -> None:
        if self.stop.is_set():
            raise ClientGone("interrupted")


class ServerRenderer:
    """Has a server speak, which keeps what it has spoken."""

    def __init__(self, url: str, fields: dict[str, Any]) -> None:
        self.n_evicted = 0
        self.stop = threading.Event()
        self._url = url
        self._fields = fields

    def render(self, phrase: Phrase, wav: Path | None) -> bool:
        """See Renderer. Both modes: what an engine makes of them may differ."""
        hits = [self._ask(phrase, wav if not stream else None, stream) for stream in (False, True)]
        return all(hits)

    def _ask(self, phrase: Phrase, wav: Path | None, stream: bool) -> bool:
        # Behind everything that somebody waits for.
        more = {"input": phrase.text, "response_format": "pcm", "stream": stream, "priority": "batch"}
        for attempt in itertools.count(1):
            with Connection(self._url, TIMEOUT_S) as connection:
                answer = connection.post("/v1/audio/speech", self._fields | more)
                body = answer.body()
            if answer.status == 503 and attempt < MAX_TRIES and not self.stop.is_set():
                time.sleep(min(5.0, float(answer.headers.get("Retry-After", "1"))))
                continue
            if answer.status != 200:
                raise refusal(body, answer.status)
            break
        state = answer.headers.get("X-Cache")
        if state is None and wav is None and not stream:
            raise UsageError(f"the server at {self._url} keeps nothing: set gateway.cache_mib there, or give --out")
        _write(iter([np.frombuffer(body, "<i2")]), int(answer.headers["X-Sample-Rate"]), wav)
        return state == "hit"


def _write(pcm: Iterator[Int16], rate_hz: int, wav: Path | None) -> None:
    if wav is None:
        for _ in pcm:
            pass
        return
    # Its bit rate is mp3's, of which there is none here.
    with AudioFile(str(wav), make_encoder("wav", rate_hz, 64)) as file:
        for chunk in pcm:
            file.write(chunk)
