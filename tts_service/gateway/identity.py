"""What makes two answers the same bytes: the request with its defaults, and everything that speaks it. Pure."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable
from importlib import metadata

import msgspec

from tts_service import __version__
from tts_service.gateway.utterance import Utterance
from tts_service.settings import GatewaySettings
from tts_service.text.segment import SegmentText

# Another version of these may round or code otherwise.
_LIBRARIES = ("av", "lameenc", "numpy", "onnxruntime", "soxr")


def entity_tag(utterance: Utterance, texts: Iterable[SegmentText], settings: GatewaySettings) -> str:
    """Return a tag that only answers with the same bytes have, without quotes; `texts` are all segments of it.

    What is spoken goes in, and not the settings, the lexicon and the rules that make it of the text.

    Equal over processes, restarts and machines of one kind that run the same versions with the same settings.
    """
    facts = (
        utterance.pool.generation,
        [(piece.text, piece.pause_before_s, piece.pause_after_s, piece.speed) for piece in texts],
        utterance.voice,
        utterance.language,
        utterance.speed,
        utterance.stretch,
        utterance.seed,
        utterance.response_format,
        utterance.sample_rate_hz,
        utterance.streamed,
        utterance.events,
        utterance.trim,
        # Words are the text's own, whatever is spoken for them.
        (utterance.form, utterance.word_events, utterance.text if utterance.form or utterance.word_events else ""),
        (settings.mp3_kbps, settings.opus_kbps, settings.aac_kbps),
        _versions(),
    )
    return hashlib.sha256(msgspec.json.encode(facts)).hexdigest()[:32]


@functools.cache
def _versions() -> tuple[str, ...]:
    return (__version__, *(f"{name} {_version(name)}" for name in _LIBRARIES))


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
