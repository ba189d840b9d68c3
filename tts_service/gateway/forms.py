"""What an answer is besides audio: JSON with words, captions, events with words. Reads the fields for that. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

import msgspec

from tts_service.allowed import shorten
from tts_service.errors import Code, RequestFailed
from tts_service.gateway.body import SpeechBody, TextForm
from tts_service.protocol import PoolInfo, Voice

_FORMS = get_args(TextForm)
AUDIO_FORMAT = "mp3"


def audio_of(body: SpeechBody) -> tuple[str, SpeechBody]:
    """Return json, srt, vtt or "" for plain audio, and the request with the format of its audio in its place."""
    form = body.response_format
    if form not in _FORMS:
        if body.audio_format is not None:
            message = f"audio_format = {body.audio_format}: goes with response_format json, srt or vtt, not {form}"
            raise RequestFailed(Code.INVALID_REQUEST, message, param="audio_format")
        if body.timestamps is not None and body.stream_format != "sse":
            message = f"timestamps = {body.timestamps}: needs stream_format sse, or response_format json, srt or vtt"
            raise RequestFailed(Code.INVALID_REQUEST, message, param="timestamps")
        return "", body
    for name, value in (("stream", body.stream), ("stream_format", body.stream_format)):
        if value in (True, "sse"):
            message = f"{name} = {shorten(value)}: response_format {form} comes in one piece"
            raise RequestFailed(Code.INVALID_REQUEST, message, param=name)
    return form, msgspec.structs.replace(body, response_format=body.audio_format or AUDIO_FORMAT, stream=False)


def has_word_times(pool: PoolInfo, voice: Voice) -> bool:
    """Return True where it is known when this voice says its words."""
    return pool.engine.word_times and voice.word_times


def check_word_times(form: str, pool: PoolInfo, voice: Voice, pools: Iterable[PoolInfo]) -> None:
    """Raise RequestFailed where nobody knows when this voice says its words; `form` is "" for events."""
    if has_word_times(pool, voice):
        return
    param, value = ("response_format", form) if form else ("timestamps", "word")
    able = ", ".join(
        other.name for other in pools if any(has_word_times(other, known) for known in other.engine.voices)
    )
    who = f"voice {voice.id!r} of model {pool.name!r}" if pool.engine.word_times else f"model {pool.name!r}"
    message = (
        f"{param} = {value}: {who} (engine {pool.engine.name}) does not say when words are spoken; "
        f"models that do: {able or 'none here'}"
    )
    raise RequestFailed(Code.INVALID_REQUEST, message, param=param)
