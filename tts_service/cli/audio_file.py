"""Where `say` puts its audio: a file that appears only when it is complete, or standard output."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from tts_service.errors import ProcessMustEnd, UsageError
from tts_service.gateway.encoders import Encoder
from tts_service.gateway.pcm import Int16

FORMATS = ("wav", "mp3", "opus", "aac", "flac", "pcm", "ulaw", "alaw")


def format_of(output: str, wanted: str | None) -> str:
    """Return the format for a file: the one asked for, or what the name ends in, or wav."""
    suffix = Path(output).suffix.lstrip(".").lower()
    suffix = "opus" if suffix == "ogg" else suffix
    if wanted is None and suffix and suffix not in FORMATS:
        raise UsageError(f"-o {output}: cannot tell a format from {suffix!r}; give --format {'|'.join(FORMATS)}")
    return wanted or suffix or "wav"


class AudioFile:
    """Encodes and writes. A context manager: without an error the file takes its name, with one nothing is left."""

    def __init__(self, output: str, encoder: Encoder) -> None:
        self.n_samples = 0
        self._encoder = encoder
        self._path = None if output == "-" else Path(output)
        self._part = self._path.with_name(f".{self._path.name}.{os.getpid()}.part") if self._path else None
        self._file: BinaryIO | None = None

    def __enter__(self) -> AudioFile:
        self._file = self._part.open("wb") if self._part else sys.stdout.buffer
        self._file.write(self._encoder.begin(None))
        return self

    def write(self, pcm: Int16) -> None:
        """Add samples (n,). ProcessMustEnd where the format cannot hold more."""
        assert self._file is not None
        self.n_samples += len(pcm)
        if self.n_samples > self._encoder.max_samples:
            raise ProcessMustEnd("the audio is longer than a wav file can say; use --format mp3 or pcm")
        self._file.write(self._encoder.encode(pcm))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._file is not None
        # A file can be gone back in: its header gets the sizes that a stream cannot know.
        sized = self._path is not None and error is None
        header = self._encoder.begin(self.n_samples) if sized else b""
        if error is None:
            self._file.write(self._encoder.end())
        if self._part is None or self._path is None:
            self._file.flush()
            return
        if error is None:
            self._file.seek(0)
            self._file.write(header)
        self._file.close()
        if error is None:
            self._part.replace(self._path)
        else:
            self._part.unlink(missing_ok=True)
