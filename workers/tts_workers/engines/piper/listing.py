"""Tries every voice of a directory, for `tts-service voices`: what is it, does it run, and how?"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import msgspec

from tts_service.errors import EngineBroken
from tts_workers.engines.piper.bundle import Bundle
from tts_workers.engines.piper.cache import Cache, digest_of
from tts_workers.engines.piper.cutting import cut
from tts_workers.engines.piper.phonemes import Reader
from tts_workers.engines.piper.voice import VoiceFile, find_models, read_voice


class Finding(msgspec.Struct, frozen=True):
    """What is known of one voice."""

    id: str
    refused_because: str = ""
    """"" for a voice that can be served; of others not all fields are known."""
    whole_because: str = ""
    """Why it runs whole; "" where it runs in windows."""
    language: str = ""
    sample_rate_hz: int = 0
    n_speakers: int = 0
    voices: list[str] = []
    """What requests call it and its speakers."""
    phoneme_type: str = ""
    frame_samples: int = 0
    """Samples of a frame; 0 for a voice that runs whole."""


def findings(directory: Path, cache: Path) -> list[Finding]:
    """Return what there is to say about each voice; those that are cut for it are kept in `cache`."""
    kept = Cache(cache)
    return [_finding(model, kept) for model in find_models(directory)]


def _finding(model: Path, cache: Cache) -> Finding:
    try:
        voice = read_voice(model)
    except EngineBroken as error:
        return Finding(model.stem, refused_because=str(error))
    try:
        return _tried(voice, cache)
    except EngineBroken as error:
        return _described(voice, refused_because=str(error))


def _tried(voice: VoiceFile, cache: Cache) -> Finding:
    entry = cache.get(digest_of(voice.model), partial(cut, voice))
    Bundle().load({voice.id: entry})
    Reader(voice).load()
    return _described(voice, whole_because=entry.facts.whole_because, frame_samples=entry.facts.hop)


def _described(
    voice: VoiceFile, *, refused_because: str = "", whole_because: str = "", frame_samples: int = 0
) -> Finding:
    return Finding(
        id=voice.id,
        refused_because=refused_because,
        whole_because=whole_because,
        language=voice.language,
        sample_rate_hz=voice.config.audio.sample_rate,
        n_speakers=voice.config.num_speakers,
        voices=list(voice.speakers()),
        phoneme_type=voice.phoneme_type,
        frame_samples=frame_samples,
    )
