"""From a request to what exactly is to be spoken: which pool and voice, which seed, which rate and coding. Pure."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from tts_service.allowed import shorten
from tts_service.errors import Code, RequestFailed
from tts_service.gateway.aliases import check_language, is_openai_voice, real_voice, stand_in
from tts_service.gateway.body import MAX_SEED, SpeechBody
from tts_service.gateway.encoders import check_rate, fitting_rate, is_telephony
from tts_service.gateway.forms import audio_of, check_word_times
from tts_service.protocol import PoolInfo, Voice

# OpenAI's names for its speech models: clients send them unasked, and mean "whatever you have".
ANY_MODEL = frozenset({"tts-1", "tts-1-hd", "gpt-4o-mini-tts"})


@dataclass(frozen=True)
class Utterance:
    """A request with every default filled in and everything looked up."""

    text: str
    pool: PoolInfo
    voice: str
    language: str
    speed: float
    """Of the engine."""
    seed: int
    """0 to 2**63 - 1."""
    response_format: str
    sample_rate_hz: int
    """Of the answer."""
    streamed: bool
    priority: int | str = 0
    timeout_s: float = 0.0
    """0: none."""
    ssml: bool = False
    """True where `text` is a document of SSML."""
    normalize: bool | tuple[str, ...] = True
    """The steps from written to spoken text: all, none, or these."""
    client: str = ""
    """Whose share of the pool it counts against."""
    random_seed: bool = False
    """True where the seed was drawn for this request: nothing of it will be asked for again."""
    stretch: float = 1.0
    """What is left of the request's speed after the engine's: its audio is made so much faster."""
    events: bool = False
    """As server-sent events."""
    trim: bool = False
    ignored: tuple[str, ...] = ()
    """Fields that were given and have no effect with this engine."""
    form: str = ""
    """What the answer is: json, srt, vtt; "" for the audio itself, in `response_format` as always."""
    word_events: bool = False
    """Among the events are those that say when words are heard."""

    @property
    def file_format(self) -> str:
        """The answer as a file."""
        return self.form or self.response_format


def resolve(
    body: SpeechBody,
    pools: list[PoolInfo],
    default_rate_hz: int,
    client: str = "",
    aliases: Mapping[str, str] | None = None,
) -> Utterance:
    """Return what `body` asks for; RequestFailed where the service has no such thing."""
    form, body = audio_of(body)
    wanted = body.voice_id if body.voice_id is None else real_voice(body.voice_id, aliases or {}, pools)
    pool = _pool(msgspec.structs.replace(body, voice=wanted), pools)
    voice = _voice(wanted, pool)
    check_language(body.language, voice)
    word_events = body.timestamps is not None and not form
    if form or word_events:
        check_word_times(form, pool, voice, pools)
    rate_hz = _rate(body, pool, default_rate_hz)
    wanted_seed = pool.default_seed if body.seed is None else body.seed
    events = body.stream_format == "sse"
    speed = min(max(body.speed, pool.engine.min_speed), pool.engine.max_speed)
    return Utterance(
        text=body.input,
        pool=pool,
        voice=voice.id,
        language=body.language or "",
        speed=speed,
        seed=secrets.randbits(31) if wanted_seed < 0 else wanted_seed,
        response_format=body.response_format,
        sample_rate_hz=rate_hz,
        streamed=body.stream if body.stream is not None else events or not body.response_format.startswith("wav"),
        priority=body.priority,
        timeout_s=body.timeout or 0.0,
        ssml=body.input_type == "ssml",
        normalize=body.normalize if isinstance(body.normalize, bool) else tuple(body.normalize),
        client=client,
        random_seed=wanted_seed < 0,
        stretch=body.speed / speed,
        events=events,
        trim=body.trim,
        ignored=("instructions",) if body.instructions else (),
        form=form,
        word_events=word_events,
    )


def segment_seed(seed: int, text: str, occurrence: int) -> int:
    """Return a segment's seed, 0 to 2**63 - 1: a hash of the request's seed, the text, and how often it came before.

    The same sentence so sounds the same wherever it stands, and a repeated one is not a copy.
    """
    digest = hashlib.blake2b(f"{seed}\0{occurrence}\0{text}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") & MAX_SEED


def _pool(body: SpeechBody, pools: list[PoolInfo]) -> PoolInfo:
    """Return the pool that `model` names (its own name, or its engine's); without one, the first that has the voice."""
    wanted = body.model
    if wanted and wanted not in ANY_MODEL:
        # A pool may be called like another pool's engine.
        for pool in sorted(pools, key=lambda pool: pool.name != wanted):
            if wanted in (pool.name, pool.engine.name):
                return pool
        names = ", ".join(pool.name for pool in pools)
        message = f"model = {shorten(wanted)}: there is no such model; there are: {names}"
        raise RequestFailed(Code.MODEL_NOT_FOUND, message, param="model")
    voice = body.voice_id
    for pool in pools:
        if voice is None or is_openai_voice(voice, pools) or voice in {known.id for known in pool.engine.voices}:
            return pool
    raise _no_voice(voice or "", pools)


def _voice(wanted: str | None, pool: PoolInfo) -> Voice:
    voice = pool.default_voice if wanted is None else wanted
    if is_openai_voice(wanted, [pool]):
        voice = stand_in(voice, pool)
    for known in pool.engine.voices:
        if known.id == voice:
            return known
    raise _no_voice(voice, [pool])


def _no_voice(voice: str, pools: list[PoolInfo]) -> RequestFailed:
    known = [voice.id for pool in pools for voice in pool.engine.voices]
    shown = ", ".join(known[:20]) + (f" and {len(known) - 20} more" if len(known) > 20 else "")
    message = f"voice = {shorten(voice)}: there is no such voice; there are: {shown}"
    return RequestFailed(Code.VOICE_NOT_FOUND, message, param="voice")


def _rate(body: SpeechBody, pool: PoolInfo, default_rate_hz: int) -> int:
    """Return the answer's rate: the one asked for, where the format has it, else the next that loses nothing."""
    wanted = body.sample_rate
    if isinstance(wanted, int) or (wanted is not None and is_telephony(body.response_format)):
        check_rate(body.response_format, wanted)
    if isinstance(wanted, int):
        return wanted
    rate_hz = default_rate_hz if wanted is None and default_rate_hz else pool.engine.sample_rate_hz
    return fitting_rate(body.response_format, rate_hz)
