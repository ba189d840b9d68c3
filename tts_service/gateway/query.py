"""The query of GET and HEAD /v1/audio/speech: the fields of the POST's body, as text. Pure."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
from werkzeug.datastructures import MultiDict

from tts_service.allowed import convert, shorten
from tts_service.errors import Code, RequestFailed
from tts_service.gateway.body import SpeechBody, TextForm, check_text

# The first line of a request has 8190 bytes at most (gunicorn), of which a letter takes 1 to 12.
MAX_LINK_CHARS = 4000
_FIELDS = msgspec.structs.fields(SpeechBody)
# What a link that names neither means: a file to play, and to go back in.
_DEFAULTS: dict[str, Any] = {"response_format": "wav", "stream": False}


def read_query(query: MultiDict[str, str], max_text_chars: int) -> SpeechBody:
    """Return the request that a query spells. RequestFailed names the field, its value and what is allowed.

    A field without a value has its default; unknown ones are ignored.
    """
    values = dict(_DEFAULTS)
    for field in _FIELDS:
        given = query.getlist(field.name)
        if len(given) > 1:
            message = f"{field.name} is given {len(given)} times: expected once"
            raise RequestFailed(Code.INVALID_REQUEST, message, param=field.name)
        if given and (given[0] or field.name == "input"):
            values[field.name] = _converted(field, given[0])
    if "input" not in values:
        raise RequestFailed(Code.INVALID_REQUEST, "input is missing: expected the text to speak", param="input")
    if values["response_format"] in get_args(TextForm):
        # The captions of a link are for the audio of the same link without a format.
        values.setdefault("audio_format", _DEFAULTS["response_format"])
    if values.get("stream_format") == "sse" and "stream" not in query:
        values["stream"] = True
    check_text(values["input"], min(max_text_chars, MAX_LINK_CHARS))
    return SpeechBody(**values)


def read_flag(query: MultiDict[str, str], name: str) -> bool:
    """Return a switch of the query, off where it is not given."""
    value = query.get(name, "")
    if value.lower() not in ("", "0", "1", "false", "true"):
        message = f"{name} = {shorten(value)}: expected true or false"
        raise RequestFailed(Code.INVALID_REQUEST, message, param=name)
    return value.lower() in ("1", "true")


def _converted(field: msgspec.structs.FieldInfo, text: str) -> Any:
    if field.name == "voice":
        return text
    try:
        return convert(text, field.type, text=True)
    except ValueError as error:
        message = f"{field.name} = {shorten(text)}: expected {error}"
        raise RequestFailed(Code.INVALID_REQUEST, message, param=field.name) from None
