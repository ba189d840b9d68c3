"""The models and voices there are, in the shapes that clients read. Pure but for the routes themselves."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Annotated, Literal

import msgspec
from flask import Flask, Response
from msgspec import Meta

from tts_service.allowed import shorten
from tts_service.errors import Code, RequestFailed
from tts_service.gateway.answers import json_answer
from tts_service.gateway.client import DispatcherClient
from tts_service.gateway.forms import has_word_times
from tts_service.gateway.utterance import ANY_MODEL
from tts_service.protocol import PoolInfo


class SpeedRange(msgspec.Struct, frozen=True):
    """What `speed` an engine can do."""

    min: float
    max: float


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A pool, as OpenAI's clients read a model."""

    id: Annotated[str, Meta(description="What `model` of a request names.")]
    object: Literal["model"] = "model"
    created: Annotated[int, Meta(description="When this gateway process was started, in seconds since 1970.")]
    owned_by: str = "tts-service"
    engine: str
    sample_rate: Annotated[int, Meta(description="Of its voices, in Hz.")]
    default_voice: str
    speed: SpeedRange
    notes: Annotated[dict[str, str], Meta(description="What is unusual about voices, by their id.")]
    word_times: Annotated[bool, Meta(description="Whether it is known when its voices say their words.")]


class ModelList(msgspec.Struct, frozen=True):
    """All models, as OpenAI's clients read them."""

    data: list[Model]
    object: Literal["list"] = "list"


class AudioModelList(msgspec.Struct, frozen=True):
    """All models, as Open WebUI reads them."""

    models: list[Model]


class VoiceEntry(msgspec.Struct, frozen=True):
    """A voice, as Open WebUI and SillyTavern read it."""

    id: Annotated[str, Meta(description="What `voice` of a request names.")]
    name: str
    language: Annotated[str | None, Meta(description="BCP 47 tag; null where the voice has none.")]
    languages: list[str]
    engine: str
    pool: str
    model: Annotated[str, Meta(description="The pool, too: what `model` of a request names.")]
    sample_rate: Annotated[int, Meta(description="The voice's own, in Hz.")]
    note: Annotated[str, Meta(description="What is unusual about how it runs, in words.")]
    word_times: Annotated[bool, Meta(description="Whether response_format json, srt, vtt and timestamps can be had.")]


class VoiceList(msgspec.Struct, frozen=True):
    """The voices of all pools."""

    voices: list[VoiceEntry]


def model_of(pool: PoolInfo, created: int, name: str = "") -> Model:
    """Return a pool as a model, under another name where a client has one."""
    return Model(
        id=name or pool.name,
        created=created,
        engine=pool.engine.name,
        sample_rate=pool.engine.sample_rate_hz,
        default_voice=pool.default_voice,
        speed=SpeedRange(pool.engine.min_speed, pool.engine.max_speed),
        notes={voice.id: voice.note for voice in pool.engine.voices if voice.note},
        word_times=any(has_word_times(pool, voice) for voice in pool.engine.voices),
    )


def voices_of(pools: Iterable[PoolInfo]) -> VoiceList:
    """Return the voices of all pools, in the pools' order."""
    return VoiceList(
        [
            VoiceEntry(
                id=voice.id,
                name=voice.name,
                language=voice.languages[0] if voice.languages else None,
                languages=voice.languages,
                engine=pool.engine.name,
                pool=pool.name,
                model=pool.name,
                sample_rate=pool.engine.sample_rate_hz,
                note=voice.note,
                word_times=has_word_times(pool, voice),
            )
            for pool in pools
            for voice in pool.engine.voices
        ]
    )


def find_pool(name: str, pools: dict[str, PoolInfo]) -> PoolInfo:
    """Return the pool that a request with this `model` would be for; RequestFailed where there is none."""
    by_engine = {pool.engine.name: pool for pool in reversed(pools.values())}
    first = next(iter(pools.values()), None)
    pool = pools.get(name) or by_engine.get(name) or (first if name in ANY_MODEL else None)
    if pool is None:
        known = ", ".join(pools)
        message = f"model = {shorten(name)}: there is no such model; there are: {known}"
        raise RequestFailed(Code.MODEL_NOT_FOUND, message, param="model")
    return pool


def add_catalogue(app: Flask, client: DispatcherClient) -> None:
    """Give `app` the routes of the catalogue."""
    started = int(time.time())

    @app.get("/v1/models")
    def models() -> Response:
        return json_answer(ModelList([model_of(pool, started) for pool in client.pools.values()]))

    @app.get("/v1/models/<name>")
    def one_model(name: str) -> Response:
        return json_answer(model_of(find_pool(name, client.pools), started, name))

    @app.get("/v1/audio/models")
    def audio_models() -> Response:
        return json_answer(AudioModelList([model_of(pool, started) for pool in client.pools.values()]))

    @app.get("/v1/audio/voices")
    def voices() -> Response:
        return json_answer(voices_of(client.pools.values()))
