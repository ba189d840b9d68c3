"""Opus in Ogg, AAC in ADTS and FLAC by FFmpeg, as streams. One object a request.

PyAV is imported by the first request that needs it: it takes 16 MB and 60 ms.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, cast

import numpy as np

from tts_service.gateway.encoders.base import Encoder
from tts_service.gateway.ffmpeg import frame_of, joined, load, open_codec
from tts_service.gateway.pcm import Int16

if TYPE_CHECKING:
    from av import AudioCodecContext
    from av.audio.stream import AudioStream
    from av.container import OutputContainer

OPUS_RATES_HZ = (8000, 12000, 16000, 24000, 48000)
AAC_RATES_HZ = (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000)
# A page carries its packets only when it is full. FFmpeg's own second would hold a stream's first audio back.
OGG_PAGE_US = 100_000
# Of 0 to 10. Measured: 5 codes 180 s of audio a CPU-second, 10 codes 135.
OPUS_COMPLEXITY = 5
FLAC_LEVEL = 5
# An AAC frame of 1024 samples has at most 6144 bits (ISO 14496-3).
AAC_BITS_PER_SAMPLE = 6
# ADTS has no words for it: players hear it.
AAC_DELAY = 1024
# Where STREAMINFO has its number of samples (the last 36 bits of these 8 bytes) and its MD5.
_TOTAL, _MD5 = slice(10, 18), slice(18, 34)


class _Sink:
    """What FFmpeg has written and nobody has taken; without `seek`, so that it never goes back."""

    def __init__(self) -> None:
        self._held = bytearray()

    def write(self, data: bytes) -> int:
        self._held += data
        return len(data)

    def take(self) -> bytes:
        data, self._held = bytes(self._held), bytearray()
        return data


class FfmpegEncoder(Encoder):
    """A codec in a container; the bytes do not depend on how the samples come, nor on the run."""

    def __init__(
        self, rate_hz: int, codec: str, container: str, media_type: str, kbps: int, options: dict[str, str]
    ) -> None:
        super().__init__(rate_hz)
        self._media_type = media_type
        self._sink = _Sink()
        self._n_samples = 0
        # A random serial number, or the time, would make every answer different.
        fixed = {"fflags": "+bitexact", "flush_packets": "1"}
        if container == "ogg":
            fixed |= {"page_duration": str(OGG_PAGE_US), "serial_offset": "0"}
        self._container: OutputContainer | None = load().open(self._sink, "w", format=container, options=fixed)
        assert self._container is not None
        stream = self._container.add_stream(codec, rate=rate_hz, options=options)
        self._stream: AudioStream | None = cast("AudioStream", stream)
        context = self._stream.codec_context
        context.layout, context.thread_count, context.bit_rate = "mono", 1, 1000 * kbps
        # FFmpeg's AAC takes nothing but floating point.
        self._floats = codec == "aac"
        context.format = "fltp" if self._floats else "s16"

    @property
    def content_type(self) -> str:
        return self._media_type

    def _code(self, pcm: Int16) -> bytes:
        if not len(pcm):
            return b""
        assert self._container is not None, "closed"
        assert self._stream is not None, "closed"
        frame = frame_of(pcm.astype(np.float32) / np.float32(32768) if self._floats else pcm, self.rate_hz)
        frame.pts = self._n_samples
        self._n_samples += len(pcm)
        self._container.mux(self._stream.encode(frame))
        return self._taken()

    def _flush(self) -> bytes:
        if not self._n_samples:
            return b""
        assert self._container is not None, "closed"
        assert self._stream is not None, "closed"
        self._container.mux(self._stream.encode(None))
        self.close()
        return self._taken()

    def _release(self) -> None:
        # Container and stream know each other; unclosed they keep their memory until the collector comes by.
        if self._container is not None:
            self._container.close()
        self._container = self._stream = None

    def _taken(self) -> bytes:
        return self._sink.take()


class OpusEncoder(FfmpegEncoder):
    """Opus in Ogg (RFC 7845): pre-skip and end trimming give back exactly the samples that went in."""

    def __init__(self, rate_hz: int, kbps: int) -> None:
        options = {"application": "voip", "compression_level": str(OPUS_COMPLEXITY)}
        super().__init__(rate_hz, "libopus", "ogg", "audio/ogg; codecs=opus", kbps, options)


class AacEncoder(FfmpegEncoder):
    """AAC-LC in ADTS: frames can be joined. Its 1024 samples of delay stay at the start, and players hear silence."""

    def __init__(self, rate_hz: int, kbps: int) -> None:
        most = AAC_BITS_PER_SAMPLE * rate_hz // 1000
        super().__init__(rate_hz, "aac", "adts", "audio/aac", min(kbps, most), {"aac_coder": "fast"})


class FlacEncoder(Encoder):
    """FLAC. The header of an answer in one piece says its length and its MD5, that of a stream cannot."""

    max_samples = (1 << 36) - 1

    def __init__(self, rate_hz: int) -> None:
        super().__init__(rate_hz)
        self._codec: AudioCodecContext | None = open_codec("flac", rate_hz, compression_level=str(FLAC_LEVEL))
        self._info = bytes(self._codec.extradata or b"")
        self._md5 = hashlib.md5(usedforsecurity=False)
        self._n_samples = 0

    @property
    def content_type(self) -> str:
        return "audio/flac"

    def begin(self, n_samples: int | None) -> bytes:
        info = bytearray(self._info)
        if n_samples is not None:
            total = int.from_bytes(info[_TOTAL], "big") >> 36 << 36 | n_samples
            info[_TOTAL] = total.to_bytes(8, "big")
            info[_MD5] = self._md5.digest()
        # The one metadata block, and the last one: type 0.
        return b"fLaC\x80" + len(info).to_bytes(3, "big") + bytes(info)

    def _code(self, pcm: Int16) -> bytes:
        assert self._codec is not None, "closed"
        self._md5.update(pcm.tobytes())
        self._n_samples += len(pcm)
        return joined(self._codec.encode(frame_of(pcm, self.rate_hz))) if len(pcm) else b""

    def _flush(self) -> bytes:
        assert self._codec is not None, "closed"
        return joined(self._codec.encode(None)) if self._n_samples else b""

    def _release(self) -> None:
        # It takes 6 MB, and the request that has ended stays until the collector comes by.
        self._codec = None
