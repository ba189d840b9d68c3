"""Workers that a command starts for itself, as a service with the same settings would, and the line to them."""

from __future__ import annotations

import functools
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tts_service.cli.halves import Half, child_environment
from tts_service.errors import CannotStart, Unavailable
from tts_service.gateway.body import read_body
from tts_service.gateway.client import DispatcherClient
from tts_service.gateway.spoken_text import SpokenText
from tts_service.gateway.utterance import Utterance, resolve
from tts_service.interrupts import ended_like_interrupted
from tts_service.runtime_dir import RuntimeDir
from tts_service.settings import Loaded
from tts_service.settings.schema import MAX_TEXT_CHARS, GatewaySettings
from tts_service.text.segment import SegmentText

TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 15.0


class OwnWorkers(NamedTuple):
    """A workers' half that is ready. Owned by the main thread."""

    half: Half
    client: DispatcherClient

    def check(self) -> None:
        """Start the half again if it has ended; CannotStart where that would not help. For the main thread alone."""
        if self.half.tend(time.monotonic()) is not None:
            raise CannotStart("the workers cannot be started; see above")


@contextmanager
def own_workers(loaded: Loaded, config: Path | None) -> Iterator[OwnWorkers]:
    """Start the workers' half, wait until every pool has a warm worker, and stop it afterwards."""
    with ended_like_interrupted(), tempfile.TemporaryDirectory(prefix="tts-own-") as directory:
        runtime_dir = RuntimeDir(Path(directory) / "run")
        runtime_dir.prepare()
        half = Half("workers", [], _quiet(child_environment(loaded, config, runtime_dir)))
        client = DispatcherClient(runtime_dir.gateway_endpoint, TIMEOUT_S, lambda message: None)
        client.start()
        own = OwnWorkers(half, client)
        try:
            _wait(own, n_pools=len(loaded.settings.pools))
            yield own
        finally:
            client.close()
            half.stop(STOP_TIMEOUT_S)


def utterance_of(fields: dict[str, Any], client: DispatcherClient, settings: GatewaySettings) -> Utterance:
    """Return what a request with these fields asks for, as the gateway would see it."""
    body = read_body(msgspec.json.encode(fields), MAX_TEXT_CHARS)
    pools = list(client.pools.values())
    return resolve(body, pools, settings.sample_rate_hz, aliases=settings.voice_aliases)


def texts_of(utterance: Utterance, settings: GatewaySettings) -> list[SegmentText]:
    """Return the segments, read as the gateway would. RequestFailed where nothing of the text can be spoken."""
    return list(_spoken_text(settings).segments(utterance))


@functools.lru_cache(maxsize=1)
def _spoken_text(settings: GatewaySettings) -> SpokenText:
    # One for many phrases: it holds the lexicon.
    return SpokenText(settings)


def _wait(own: OwnWorkers, n_pools: int) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    # All pools: the first one that is up need not be the one that speaks.
    while len(own.client.pools) < n_pools:
        own.check()
        if time.monotonic() > deadline:
            raise Unavailable(f"no worker was ready after {TIMEOUT_S:.0f} s")
        time.sleep(0.02)


def _quiet(environment: dict[str, str]) -> dict[str, str]:
    """Keep the terminal for the progress bar and for errors, unless the user wants to see more."""
    return {"TTS_SERVICE_SERVICE_LOG_LEVEL": os.environ.get("TTS_SERVICE_SERVICE_LOG_LEVEL", "error")} | {
        name: value for name, value in environment.items() if name != "TTS_SERVICE_SERVICE_LOG_LEVEL"
    }
