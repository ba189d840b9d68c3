"""What FFmpeg's programs, which nobody of this project wrote, make of an answer."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_RAW = {"pcm": ["-f", "s16le"], "ulaw": ["-f", "mulaw"], "alaw": ["-f", "alaw"]}

# ADTS says no length, and a streamed wav one that never comes; short files are hard to tell apart.
_EXPECTED = re.compile(r"duration from bitrate|maximum wav data size|orrupt.*packet|Packet corrupt|low score|Guessed")


def decoded(body: bytes, response_format: str, rate_hz: int) -> NDArray[np.int16]:
    """Return the samples of an answer, (n,). AssertionError where FFmpeg has anything to say about it."""
    raw = [*_RAW[response_format], "-ar", str(rate_hz)] if response_format in _RAW else []
    command = ["ffmpeg", "-v", "warning", *raw, "-i", "-", "-f", "s16le", "-ar", str(rate_hz), "-ac", "1", "-"]
    done = subprocess.run(command, input=body, capture_output=True, check=False)
    complaints = [line for line in done.stderr.decode().splitlines() if not _EXPECTED.search(line)]
    assert done.returncode == 0, complaints
    assert not complaints, complaints
    return np.frombuffer(done.stdout, "<i2")


def probe(body: bytes, path: Path) -> dict[str, Any]:
    """Return what ffprobe finds in a file of these bytes: its only stream's entries and its container's."""
    path.write_bytes(body)
    command = ["ffprobe", "-v", "error", "-show_streams", "-show_format", "-of", "json", str(path)]
    found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    (stream,) = found["streams"]
    return {**found["format"], **stream}
