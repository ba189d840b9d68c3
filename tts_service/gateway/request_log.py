"""The one log line of each speech request: structured as name=value, never with the text."""

from __future__ import annotations

import logging
import time

from tts_service.gateway.speech import Account
from tts_service.gateway.utterance import Utterance

logger = logging.getLogger(__name__)

# What the name of an API key is marked with, where a client is named by it.
KEY_CLIENT = "key:"


def log_request(request_id: str, outcome: str, utterance: Utterance, account: Account) -> None:
    """Write the line of a request that has ended."""
    fields = {
        "id": request_id,
        "outcome": outcome,
        "key": utterance.client.removeprefix(KEY_CLIENT) if utterance.client.startswith(KEY_CLIENT) else "-",
        "pool": utterance.pool.name,
        "voice": utterance.voice,
        "format": utterance.file_format,
        "streamed": str(utterance.streamed).lower(),
        "characters": len(utterance.text),
        "segments": account.segments,
        "cached": account.cached,
        "attempts": account.attempts,
        "workers": ",".join(map(str, sorted(account.workers))) or "-",
        "queue_s": f"{account.queue_s:.3f}",
        "first_audio_s": "-" if account.first_audio_s is None else f"{account.first_audio_s:.3f}",
        "total_s": f"{time.monotonic() - account.started_s:.3f}",
        "audio_s": f"{account.audio_s:.2f}",
    }
    logger.info("request %s", " ".join(f"{name}={value}" for name, value in fields.items()))
