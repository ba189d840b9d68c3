"""FFmpeg by PyAV: codecs and frames of mono audio. Imported by the first request that needs it: 16 MB and 60 ms."""

from __future__ import annotations

import ctypes
import functools
import logging
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import av

logger = logging.getLogger(__name__)


@functools.cache
def load() -> ModuleType:
    """Return PyAV, told to start no threads.

    PyAV feeds every encoder through a filter graph of its own, which starts a thread for each CPU, for each request;
    FFmpeg asks this one function how many CPUs there are, and PyAV offers no other way to say so.
    """
    import av
    import av.filter

    # The wheel's copy has a hash in its name.
    maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    loaded = {line.split(maxsplit=5)[-1] for line in maps if "libavutil" in line}
    for path in loaded:
        ctypes.CDLL(path).av_cpu_force_count(1)
    if not loaded:
        logger.warning("FFmpeg's libavutil cannot be found: encoding will start threads")
    return av


def open_codec(name: str, rate_hz: int, **options: str) -> av.AudioCodecContext:
    """Return an encoder of mono 16-bit samples, on the caller's own thread."""
    av = load()
    codec = av.CodecContext.create(name, "w")
    codec.sample_rate, codec.thread_count = rate_hz, 1
    codec.layout, codec.format = "mono", "s16"
    codec.options = options
    codec.open()
    return codec  # type: ignore[no-any-return]


def frame_of(samples: npt.NDArray[np.int16] | npt.NDArray[np.float32], rate_hz: int) -> av.AudioFrame:
    """Return (n,) samples, n > 0, as a frame: 16-bit ones as s16, float32 ones as fltp."""
    av = load()
    layout: Any = "s16" if samples.dtype == np.int16 else "fltp"
    frame = av.AudioFrame.from_ndarray(samples[None, :], format=layout, layout="mono")
    frame.sample_rate = rate_hz
    return frame  # type: ignore[no-any-return]


def joined(packets: Iterable[Any]) -> bytes:
    """Return the bytes of packets."""
    return b"".join(bytes(packet) for packet in packets)
