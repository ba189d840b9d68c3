"""What clients of the WebSocket routes send and are told: query, messages, formats (ElevenLabs' shapes). Pure."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Annotated, Any, get_args

import msgspec
from msgspec import Meta

from tts_service.allowed import convert, shorten
from tts_service.errors import Code, RequestFailed
from tts_service.gateway.body import MAX_SEED, SpeechBody
from tts_service.gateway.encoders import Format
from tts_service.gateway.websocket import POLICY, Refused

_FORMAT = re.compile(r"([a-z]+[0-9]?)_(\d+)(?:_(\d+))?")
# Of our formats, those that ElevenLabs has.
_CODINGS = ("mp3", "pcm", "ulaw", "alaw", "opus")
MIN_KBPS, MAX_KBPS = 8, 320
# Names of ElevenLabs' models, which its clients always send: they mean "whatever you have".
_FOREIGN_MODEL = "eleven_"


class StreamQuery(msgspec.Struct, frozen=True):
    """The query of the handshake; others of ElevenLabs' fields are ignored."""

    model_id: str | None = None
    language_code: Annotated[str, Meta(max_length=35)] | None = None
    output_format: Annotated[str, Meta(max_length=32)] = "mp3_44100_128"
    inactivity_timeout: Annotated[float, Meta(ge=1, le=180)] = 20.0
    """Seconds without a message or audio, after which the connection is closed."""
    auto_mode: bool = False
    """True where each message is of whole sentences: a full stop at its end ends one."""
    seed: Annotated[int, Meta(ge=-1, le=MAX_SEED)] | None = None


class VoiceSettings(msgspec.Struct, frozen=True):
    """Of a context's first message; others of ElevenLabs' settings have no counterpart here."""

    speed: Annotated[float, Meta(ge=0.25, le=4.0)] | None = None


class InputMessage(msgspec.Struct, frozen=True):
    """One message of the client's."""

    text: str | None = None
    """" " begins a context, "" ends the text of `stream-input` and keeps a context of `multi-stream-input` alive."""
    context_id: Annotated[str, Meta(max_length=128)] | None = None
    flush: bool | None = None
    """Speak what has come, whether or not its sentence is complete."""
    close_context: bool | None = None
    close_socket: bool | None = None
    voice_settings: VoiceSettings | None = None


class AudioFormat(msgspec.Struct, frozen=True):
    """What `output_format` stands for."""

    response_format: str
    rate_hz: int
    kbps: int | None
    """None: the service's."""


_FIELDS = msgspec.structs.fields(StreamQuery)
_decoder = msgspec.json.Decoder(InputMessage)


def read_query(arguments: Mapping[str, str]) -> StreamQuery:
    """Return the query. RequestFailed names the field, its value and what is allowed."""
    values: dict[str, Any] = {}
    for field in _FIELDS:
        if (value := arguments.get(field.name)) is not None:
            try:
                values[field.name] = convert(value, field.type, text=True)
            except ValueError as error:
                message = f"{field.name} = {shorten(value)}: expected {error}"
                raise RequestFailed(Code.INVALID_REQUEST, message, param=field.name) from None
    return StreamQuery(**values)


def read_format(output_format: str) -> AudioFormat:
    """Return what an output format means: pcm_24000, mp3_44100_128, ulaw_8000 and others."""
    known = [name for name in _CODINGS if name in get_args(Format)]
    found = _FORMAT.fullmatch(output_format)
    if not found or found[1] not in known:
        expected = ", ".join(f"{name}_RATE" for name in known)
        message = f"output_format = {shorten(output_format)}: expected {expected}, or mp3_RATE_KBPS"
        raise RequestFailed(Code.INVALID_REQUEST, message, param="output_format")
    if found[3] and not MIN_KBPS <= int(found[3]) <= MAX_KBPS:
        message = f"output_format = {shorten(output_format)}: expected {MIN_KBPS} to {MAX_KBPS} kbit/s"
        raise RequestFailed(Code.INVALID_REQUEST, message, param="output_format")
    return AudioFormat(found[1], int(found[2]), int(found[3]) if found[3] else None)


def body_of(query: StreamQuery, voice: str, speed: float | None) -> SpeechBody:
    """Return the request that would speak the same text in one piece."""
    audio = read_format(query.output_format)
    try:
        convert(audio.rate_hz, Annotated[int, Meta(ge=8000, le=48000)])
    except ValueError as error:
        message = f"output_format = {shorten(query.output_format)}: expected a rate that is {error}"
        raise RequestFailed(Code.INVALID_REQUEST, message, param="output_format") from None
    model = query.model_id
    return SpeechBody(
        input="",
        model=None if model is None or model.startswith(_FOREIGN_MODEL) else model,
        voice=voice,
        response_format=audio.response_format,  # type: ignore[arg-type]
        speed=1.0 if speed is None else speed,
        seed=query.seed,
        language=query.language_code,
        sample_rate=audio.rate_hz,
        stream=True,
    )


def read_message(text: str) -> InputMessage:
    """Return a message; Refused where it is none."""
    try:
        return _decoder.decode(text)
    except msgspec.ValidationError as error:
        raise Refused(POLICY, f"a message has a wrong field: {error}") from None
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise Refused(POLICY, f"a message is not valid JSON ({why}); expected an object with text") from None


def audio_message(data: bytes, context_id: str | None) -> str:
    """Return a message with audio."""
    return _with_context({"audio": base64.b64encode(data).decode(), "isFinal": False}, context_id)


def final_message(context_id: str | None) -> str:
    """Return the message after the last audio of a context."""
    return _with_context({"audio": None, "isFinal": True}, context_id)


def error_message(message: str, error: str, code: int, context_id: str | None, param: str = "") -> str:
    """Return the message that says what is wrong; `code` is the one that the connection would be closed with."""
    return _with_context({"message": message, "error": error, "code": code, "param": param or None}, context_id)


def _with_context(fields: dict[str, Any], context_id: str | None) -> str:
    if "audio" in fields:
        fields |= {"normalizedAlignment": None, "alignment": None}
    if context_id is not None:
        fields["contextId"] = context_id
    return msgspec.json.encode(fields).decode()
