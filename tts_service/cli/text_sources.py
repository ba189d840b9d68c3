"""Where `say --show-text` gets its segments from: a server, or workers of its own. Runs on the main thread."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tts_service.cli.own_workers import TIMEOUT_S, own_workers, texts_of, utterance_of
from tts_service.cli.sources import refusal
from tts_service.gateway.text_answer import describe
from tts_service.http_client import Connection
from tts_service.settings import Loaded


def text_from_server(url: str, fields: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what a server would say. RequestFailed with its words where it refuses."""
    with Connection(url, TIMEOUT_S) as connection:
        answer = connection.post("/v1/audio/text", fields)
        if answer.status != 200:
            raise refusal(answer.body(), answer.status)
        yield from answer.json()["segments"]


def text_from_own_workers(loaded: Loaded, config: Path | None, fields: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what a server with these settings would say: its engine is asked which voices it has."""
    with own_workers(loaded, config) as own:
        settings = loaded.settings.gateway
        for segment in texts_of(utterance_of(fields, own.client, settings), settings):
            yield describe(segment)
