"""Audio formats of the answers: 16-bit mono PCM in, bytes out, piece by piece. One object a request."""

from __future__ import annotations

import struct
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable

import lameenc

from tts_service.errors import Code, RequestFailed
from tts_service.gateway.pcm import Int16

# RIFF sizes of a stream whose length is not known yet; players read on to the end of the body.
UNKNOWN_SIZE = 0xFFFFFFFF
# LAME's scale goes from 0, best, to 9. At 5 it encodes 2.8 times as much audio a CPU-second as libsndfile does.
LAME_QUALITY = 5
MP3_RATES_HZ = (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000)
# MPEG-2.5, which the three lowest rates use, ends here.
MPEG25_MAX_KBPS = 64
MPEG25_BELOW_HZ = 16000


class Encoder(ABC):
    """One answer's encoder: `begin`, any number of `encode`, `end`."""

    def __init__(self, rate_hz: int) -> None:
        self.rate_hz = rate_hz
        self.spent_s = 0.0
        """Wall time of encoding so far."""
        self.n_bytes = 0
        """Of coded audio so far."""

    max_samples = sys.maxsize
    """Longest audio that the format can hold when it says its length."""

    @property
    @abstractmethod
    def content_type(self) -> str:
        """The answer's Content-Type."""

    def begin(self, n_samples: int | None) -> bytes:
        """Return what comes before the audio; `n_samples` is its length where that is known."""
        return b""

    def encode(self, pcm: Int16) -> bytes:
        """Return the coded form of `pcm` (n,), as far as it is complete."""
        return self._counted(lambda: self._code(pcm))

    def end(self) -> bytes:
        """Return what the encoder still holds."""
        return self._counted(self._flush)

    def _code(self, pcm: Int16) -> bytes:
        return pcm.tobytes()

    def _flush(self) -> bytes:
        return b""

    def _counted(self, work: Callable[[], bytes]) -> bytes:
        started_s = time.perf_counter()
        data = work()
        self.spent_s += time.perf_counter() - started_s
        self.n_bytes += len(data)
        return data


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
        data_bytes = UNKNOWN_SIZE if n_samples is None else 2 * n_samples
        riff_bytes = UNKNOWN_SIZE if n_samples is None else 36 + data_bytes
        form = struct.pack("<HHIIHH", 1, 1, self.rate_hz, 2 * self.rate_hz, 2, 16)
        return b"RIFF" + struct.pack("<I", riff_bytes) + b"WAVEfmt " + struct.pack("<I", 16) + form + _data(data_bytes)


class Mp3Encoder(Encoder):
    """MPEG layer III at a constant bit rate, without tags: frames can be joined, and a stream equals a download."""

    def __init__(self, rate_hz: int, kbps: int) -> None:
        super().__init__(rate_hz)
        self._lame = lameenc.Encoder()
        self._lame.silence()
        self._lame.set_channels(1)
        self._lame.set_in_sample_rate(rate_hz)
        self._lame.set_out_sample_rate(rate_hz)
        self._lame.set_bit_rate(min(kbps, MPEG25_MAX_KBPS) if rate_hz < MPEG25_BELOW_HZ else kbps)
        self._lame.set_quality(LAME_QUALITY)
        self._started = False

    @property
    def content_type(self) -> str:
        return "audio/mpeg"

    def _code(self, pcm: Int16) -> bytes:
        self._started = True
        return bytes(self._lame.encode(pcm.tobytes()))

    def _flush(self) -> bytes:
        return bytes(self._lame.flush()) if self._started else b""


def make_encoder(response_format: str, rate_hz: int, mp3_kbps: int) -> Encoder:
    """Return the encoder for a format that the request schema has let through."""
    if response_format == "mp3":
        return Mp3Encoder(rate_hz, mp3_kbps)
    return WavEncoder(rate_hz) if response_format == "wav" else PcmEncoder(rate_hz)


def check_rate(response_format: str, rate_hz: int) -> None:
    """Raise RequestFailed where the format has no such sample rate."""
    if response_format == "mp3" and rate_hz not in MP3_RATES_HZ:
        rates = ", ".join(map(str, MP3_RATES_HZ))
        message = f"sample_rate = {rate_hz}: mp3 has {rates}"
        raise RequestFailed(Code.INVALID_REQUEST, message, param="sample_rate")


def _data(n_bytes: int) -> bytes:
    return b"data" + struct.pack("<I", n_bytes)
