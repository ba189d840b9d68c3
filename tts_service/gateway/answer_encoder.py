"""The encoder of a request's answer: of its audio, and of what the answer is besides. Pure."""

from __future__ import annotations

from typing import Literal, cast

from tts_service.gateway.delivered_words import DeliveredWords
from tts_service.gateway.encoders import (
    CaptionEncoder,
    Encoder,
    EventEncoder,
    Format,
    JsonEncoder,
    codec_delay,
    make_encoder,
)
from tts_service.gateway.utterance import Utterance
from tts_service.settings import GatewaySettings


def encoder_of(utterance: Utterance, settings: GatewaySettings) -> Encoder:
    """Return the encoder of a request's answer."""
    words = words_of(utterance)
    if words is not None and utterance.form in ("srt", "vtt"):
        kind = cast(Literal["srt", "vtt"], utterance.form)
        return CaptionEncoder(utterance.sample_rate_hz, words, kind, ssml=utterance.ssml)
    encoder = make_encoder(
        utterance.response_format,
        utterance.sample_rate_hz,
        settings.mp3_kbps,
        settings.opus_kbps,
        settings.aac_kbps,
    )
    if words is not None and utterance.form:
        return JsonEncoder(encoder, words, cast(Format, utterance.response_format))
    return EventEncoder(encoder, len(utterance.text), words) if utterance.events else encoder


def words_of(utterance: Utterance) -> DeliveredWords | None:
    """Return what finds the words of an answer, where it shall have them."""
    if not utterance.form and not utterance.word_events:
        return None
    scale = utterance.sample_rate_hz / (utterance.pool.engine.sample_rate_hz * utterance.stretch)
    delay = codec_delay(utterance.response_format)
    captions = utterance.form in ("srt", "vtt")
    return DeliveredWords(utterance.text, scale, utterance.sample_rate_hz, delay, wordless=captions)
