"""Uncompressed samples and telephony's G.711, raw and in wav. One object a request."""

from __future__ import annotations

import struct

from tts_service.gateway.encoders.base import Encoder
from tts_service.gateway.encoders.g711 import Law, compressed
from tts_service.gateway.pcm import Int16

# RIFF sizes of a stream whose length is not known yet; players read on to the end of the body.
UNKNOWN_SIZE = 0xFFFFFFFF
# The format tags of G.711 in RIFF (RFC 2361).
_RIFF_TAGS = {"ulaw": 7, "alaw": 6}
_MEDIA_TYPES = {"ulaw": "audio/basic", "alaw": "audio/x-alaw-basic"}


class PcmEncoder(Encoder):
    """Raw little-endian samples."""

    @property
    def content_type(self) -> str:
        return f"audio/pcm; rate={self.rate_hz}; channels=1"


class WavEncoder(Encoder):
    """A canonical 44-byte RIFF header (format 1, one channel, 16 bits), then the samples."""

    # RIFF counts bytes in 32 bits, and the 36 of the header after the first two fields with them.
    max_samples = (UNKNOWN_SIZE - 36) // 2 - 1

    @property
    def content_type(self) -> str:
        return "audio/wav"

    def begin(self, n_samples: int | None) -> bytes:
        form = struct.pack("<HHIIHH", 1, 1, self.rate_hz, 2 * self.rate_hz, 2, 16)
        return _riff([(b"fmt ", form)], None if n_samples is None else 2 * n_samples)


class G711Encoder(Encoder):
    """Raw G.711, one byte a sample."""

    def __init__(self, rate_hz: int, law: Law) -> None:
        super().__init__(rate_hz)
        self._law: Law = law

    @property
    def content_type(self) -> str:
        return _MEDIA_TYPES[self._law]

    def _code(self, pcm: Int16) -> bytes:
        return compressed(pcm, self._law)


class WavG711Encoder(G711Encoder):
    """G.711 in RIFF; what is not PCM has a longer `fmt ` and a `fact` chunk with the number of samples: 58 bytes."""

    max_samples = UNKNOWN_SIZE - 60
    _sized = False

    @property
    def content_type(self) -> str:
        return "audio/wav"

    def begin(self, n_samples: int | None) -> bytes:
        self._sized = n_samples is not None
        form = struct.pack("<HHIIHHH", _RIFF_TAGS[self._law], 1, self.rate_hz, self.rate_hz, 1, 8, 0)
        fact = struct.pack("<I", UNKNOWN_SIZE if n_samples is None else n_samples)
        return _riff([(b"fmt ", form), (b"fact", fact)], n_samples)

    def _flush(self) -> bytes:
        # RIFF pads chunks to an even length, outside their sizes; in a stream the pad would be taken for a sample.
        return b"\0" if self._sized and self.n_bytes % 2 else b""


def _riff(chunks: list[tuple[bytes, bytes]], data_bytes: int | None) -> bytes:
    """Return everything before the samples; `data_bytes` is None where their length is not known."""
    head = b"WAVE" + b"".join(name + struct.pack("<I", len(body)) + body for name, body in chunks)
    sizes = (UNKNOWN_SIZE, UNKNOWN_SIZE)
    if data_bytes is not None:
        sizes = (len(head) + 8 + data_bytes + data_bytes % 2, data_bytes)
    return b"RIFF" + struct.pack("<I", sizes[0]) + head + b"data" + struct.pack("<I", sizes[1])
