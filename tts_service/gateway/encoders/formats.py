"""The formats there are: their names, sample rates, file names' endings, and the encoder of each. Pure."""

from __future__ import annotations

from typing import Literal

from tts_service.errors import Code, RequestFailed
from tts_service.gateway.encoders.base import Encoder
from tts_service.gateway.encoders.ffmpeg import (
    AAC_DELAY,
    AAC_RATES_HZ,
    OPUS_RATES_HZ,
    AacEncoder,
    FlacEncoder,
    OpusEncoder,
)
from tts_service.gateway.encoders.g711 import TELEPHONY_RATE_HZ
from tts_service.gateway.encoders.mp3 import DECODED_DELAY, MP3_RATES_HZ, Mp3Encoder
from tts_service.gateway.encoders.plain import G711Encoder, PcmEncoder, WavEncoder, WavG711Encoder

Format = Literal["mp3", "opus", "aac", "flac", "wav", "pcm", "ulaw", "alaw", "wav_ulaw", "wav_alaw"]

# Formats that are not here take any rate.
_RATES_HZ: dict[str, tuple[int, ...]] = {
    "mp3": MP3_RATES_HZ,
    "opus": OPUS_RATES_HZ,
    "aac": AAC_RATES_HZ,
    **dict.fromkeys(("ulaw", "alaw", "wav_ulaw", "wav_alaw"), (TELEPHONY_RATE_HZ,)),
}


def make_encoder(response_format: str, rate_hz: int, mp3_kbps: int, opus_kbps: int = 32, aac_kbps: int = 64) -> Encoder:
    """Return the encoder for a format and a rate that have been checked."""
    match response_format:
        case "mp3":
            return Mp3Encoder(rate_hz, mp3_kbps)
        case "opus":
            return OpusEncoder(rate_hz, opus_kbps)
        case "aac":
            return AacEncoder(rate_hz, aac_kbps)
        case "flac":
            return FlacEncoder(rate_hz)
        case "wav":
            return WavEncoder(rate_hz)
        case "ulaw" | "alaw":
            return G711Encoder(rate_hz, response_format)
        case "wav_ulaw":
            return WavG711Encoder(rate_hz, "ulaw")
        case "wav_alaw":
            return WavG711Encoder(rate_hz, "alaw")
        case "pcm":
            return PcmEncoder(rate_hz)
    raise ValueError(f"there is no format {response_format!r}")


def check_rate(response_format: str, rate_hz: int | str) -> None:
    """Raise RequestFailed where the format has no such sample rate."""
    rates = _RATES_HZ.get(response_format, ())
    if rates and rate_hz not in rates:
        known = ", ".join(map(str, rates))
        message = f"sample_rate = {rate_hz}: {response_format} has {known}"
        raise RequestFailed(Code.INVALID_REQUEST, message, param="sample_rate")


def fitting_rate(response_format: str, rate_hz: int) -> int:
    """Return the format's lowest rate that loses nothing of `rate_hz`, its highest where all do."""
    rates = _RATES_HZ.get(response_format, ())
    return next((rate for rate in rates if rate >= rate_hz), rates[-1]) if rates else rate_hz


def codec_delay(response_format: str) -> int:
    """Return how many samples a decoder puts before the first one of the audio."""
    return {"mp3": DECODED_DELAY, "aac": AAC_DELAY}.get(response_format, 0)


def is_telephony(response_format: str) -> bool:
    """Return True for the formats that have one rate, which no setting changes."""
    return _RATES_HZ.get(response_format) == (TELEPHONY_RATE_HZ,)


def suffix_of(response_format: str) -> str:
    """Return the ending of a file in this format, without the dot."""
    return "wav" if response_format.startswith("wav") else response_format
