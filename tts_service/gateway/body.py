"""The body of POST /v1/audio/speech: its fields, types and limits, and how it is read. Pure."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from tts_service.allowed import convert, shorten
from tts_service.errors import Code, RequestFailed
from tts_service.gateway.encoders import Format
from tts_service.gateway.json_faults import explain

StepName = Literal[
    "unicode",
    "markup",
    "links",
    "emoji",
    "dates",
    "phones",
    "times",
    "currency",
    "units",
    "abbreviations",
    "numbers",
    "capitals",
    "symbols",
    "punctuation",
]
TextForm = Literal["json", "srt", "vtt"]
MAX_SEED = 2**63 - 1


class VoiceRef(msgspec.Struct, frozen=True):
    """A voice as OpenAI's newer clients name it."""

    id: Annotated[str, Meta(max_length=256)]


class SpeechBody(msgspec.Struct, frozen=True):
    """What a client may send. Fields that are absent or null have their default; unknown fields are ignored."""

    input: Annotated[str, Meta(description="The text to speak.")]
    model: Annotated[str | None, Meta(description="Pool that speaks; absent: the one that has the voice.")] = None
    voice: Annotated[str | VoiceRef | None, Meta(description="Voice id; absent: the pool's default voice.")] = None
    response_format: Annotated[
        Literal[Format, TextForm],
        Meta(
            description="Container and coding of the audio; json: audio with words; srt, vtt: captions without audio."
        ),
    ] = "mp3"
    speed: Annotated[float, Meta(ge=0.25, le=4.0, description="Speaking rate, 1 is the voice's own.")] = 1.0
    seed: Annotated[
        Annotated[int, Meta(ge=-1, le=MAX_SEED)] | None,
        Meta(description="Fixes the random part; -1: a random seed; absent: the pool's."),
    ] = None
    language: Annotated[
        Annotated[str, Meta(max_length=35)] | None, Meta(description="BCP 47 tag; absent: the voice's own.")
    ] = None
    input_type: Annotated[
        Literal["text", "ssml"], Meta(description="Whether input is a text or a document of SSML.")
    ] = "text"
    normalize: Annotated[
        bool | list[StepName],
        Meta(description="Read numbers, dates, markup and so on; false: as written; a list: only these steps."),
    ] = True
    sample_rate: Annotated[
        Annotated[int, Meta(ge=8000, le=48000)] | Literal["native"] | None,
        Meta(description="Hz, or \"native\" for the voice's own; absent: the service's default."),
    ] = None
    priority: Annotated[
        Annotated[int, Meta(ge=-10, le=10)] | Literal["batch"],
        Meta(description='Each step moves the deadlines by 5 s; "batch" goes behind everything.'),
    ] = 0
    timeout: Annotated[
        Annotated[float, Meta(gt=0, le=86400)] | None,
        Meta(description="Seconds until a stream's first audio, or a whole answer, must be there; absent: no limit."),
    ] = None
    stream: Annotated[
        bool | None, Meta(description="Send audio while it is made; absent: true for all formats but wavs.")
    ] = None

    stream_format: Annotated[
        Literal["audio", "sse"] | None,
        Meta(description='"sse": events with base64; absent: what the Accept header asks for, else audio.'),
    ] = None
    instructions: Annotated[
        str | None,
        Meta(description="How to speak. No engine here can be told: it has no effect, and a header says so."),
    ] = None
    trim: Annotated[bool, Meta(description="Take the silence off both ends.")] = False
    audio_format: Annotated[
        Format | None,
        Meta(description="The audio in json, or that srt and vtt are for; absent: mp3. Only with those."),
    ] = None
    timestamps: Annotated[
        Literal["word"] | None, Meta(description="With sse: events that say when the words are heard.")
    ] = None

    @property
    def voice_id(self) -> str | None:
        """The voice, however it was named."""
        return self.voice.id if isinstance(self.voice, VoiceRef) else self.voice


# Both are made once: to look at the annotations of a class costs more than to synthesize a word.
_FIELDS = msgspec.structs.fields(SpeechBody)
_decoder = msgspec.json.Decoder(SpeechBody)


def read_body(raw: bytes, max_text_chars: int) -> SpeechBody:
    """Return the body that `raw` is the JSON of. RequestFailed names the field, its value and what is allowed."""
    try:
        body = _decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # It has nulls, or something is wrong with it: field by field there is more to say.
        body = _read_by_field(raw)
    check_text(body.input, max_text_chars)
    return body


def _read_by_field(raw: bytes) -> SpeechBody:
    tree = _read_json(raw)
    values: dict[str, Any] = {}
    for field in _FIELDS:
        value = tree.get(field.name)
        if value is None:
            continue
        try:
            values[field.name] = convert(value, field.type)
        except ValueError as error:
            message = f"{field.name} = {shorten(value)}: expected {error}"
            raise RequestFailed(Code.INVALID_REQUEST, message, param=field.name) from None
    if "input" not in values:
        raise RequestFailed(Code.INVALID_REQUEST, "input is missing: expected the text to speak", param="input")
    return SpeechBody(**values)


def _read_json(raw: bytes) -> dict[str, Any]:
    try:
        tree = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestFailed(
            Code.INVALID_REQUEST,
            f"the body is not valid JSON ({explain(raw, error)}); expected an object with at least input",
            param="input",
        ) from None
    if not isinstance(tree, dict):
        found = type(tree).__name__
        raise RequestFailed(
            Code.INVALID_REQUEST, f"the body is a JSON {found}; expected an object with at least input", param="input"
        )
    return tree


def check_text(text: str, max_text_chars: int) -> None:
    """Raise RequestFailed where there is nothing to speak, or too much."""
    if not text.strip():
        raise RequestFailed(Code.NOTHING_TO_SPEAK, "input is empty or blank: expected a text to speak", param="input")
    if len(text) > max_text_chars:
        message = f"input has {len(text)} characters: expected at most {max_text_chars}"
        raise RequestFailed(Code.TEXT_TOO_LONG, message, param="input")
