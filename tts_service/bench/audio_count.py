"""How many seconds of audio a body holds, counted while it comes: WAV by its header, raw PCM by its rate. Pure."""

from __future__ import annotations

import struct

from tts_service.bench.speaker import SpeechFailed

PCM_BYTES = 2
# A header that is longer than this before its data is none.
MAX_HEADER_BYTES = 65536
# What servers write that do not know the length yet.
_OPEN_SIZES = (0, 0x7FFFFFFF, 0xFFFFFFFF)
_FMT_BYTES = 16


class PcmCount:
    """Of 16-bit mono samples."""

    def __init__(self, rate_hz: int) -> None:
        self._bytes_per_s = PCM_BYTES * rate_hz

    def seconds(self, data: bytes) -> float:
        """Return the seconds of audio in the next piece of the body."""
        return len(data) / self._bytes_per_s

    def end(self) -> None:
        """Check what can only be known at the end of the body."""


class WavCount:
    """Of a WAV file, whose header says what a second is."""

    def __init__(self) -> None:
        self._header = bytearray()
        self._bytes_per_s = 0
        self._left: int | None = None
        """Bytes of audio still to come; None where the header leaves it open."""

    def seconds(self, data: bytes) -> float:
        """Return the seconds of audio in the next piece of the body. SpeechFailed where it is no WAV."""
        if not self._bytes_per_s:
            self._header += data
            if (audio := self._read_header(bytes(self._header))) is None:
                return 0.0
            data = audio
        n_bytes = len(data) if self._left is None else min(len(data), self._left)
        if self._left is not None:
            self._left -= n_bytes
        return n_bytes / self._bytes_per_s

    def end(self) -> None:
        """Raise SpeechFailed where less has come than the header says."""
        if not self._bytes_per_s:
            raise SpeechFailed(f"a body of {len(self._header)} bytes, which is no WAV")
        if self._left:
            raise SpeechFailed(f"a WAV that lacks {self._left} bytes of what its header says")

    def _read_header(self, data: bytes) -> bytes | None:
        """Return the audio behind the header, None where the header is not all there yet."""
        if not (data[:4].startswith(b"RIFF"[: len(data)]) and b"WAVE".startswith(data[8:12])):
            raise SpeechFailed(f"a body that is no WAV; it begins with {data[:16]!r}")
        at, rate = 12, 0
        while len(data) >= at + 8:
            name, size = data[at : at + 4], struct.unpack_from("<I", data, at + 4)[0]
            if name == b"data":
                if not rate:
                    raise SpeechFailed("a WAV without a format")
                self._bytes_per_s = rate
                self._left = None if size in _OPEN_SIZES else size
                return data[at + 8 :]
            if name == b"fmt " and len(data) >= at + 8 + _FMT_BYTES:
                # nAvgBytesPerSec of WAVEFORMAT, after format, channels and rate.
                rate = struct.unpack_from("<I", data, at + 16)[0]
            # Chunks are padded to even lengths.
            at += 8 + size + size % 2
        if len(data) > MAX_HEADER_BYTES:
            raise SpeechFailed("a WAV without audio")
        return None


class NoCount:
    """Of a compressed format: it has bytes, and nobody looks into them."""

    def seconds(self, data: bytes) -> float:
        """Return 0: not known."""
        return 0.0

    def end(self) -> None:
        """Check nothing."""


Count = PcmCount | WavCount | NoCount
