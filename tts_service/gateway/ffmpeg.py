"""FFmpeg by PyAV: codecs and frames of mono audio. Imported by the first request that needs it: 16 MB and 60 ms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import av


def open_codec(name: str, rate_hz: int, **options: str) -> av.AudioCodecContext:
    """Return an encoder of mono 16-bit samples, on the caller's own thread."""
    import av

    codec = av.CodecContext.create(name, "w")
    assert isinstance(codec, av.AudioCodecContext)
    codec.sample_rate, codec.thread_count = rate_hz, 1
    codec.layout, codec.format = "mono", "s16"
    codec.options = options
    codec.open()
    return codec


def frame_of(samples: npt.NDArray[np.int16] | npt.NDArray[np.float32], rate_hz: int) -> av.AudioFrame:
    """Return (n,) samples, n > 0, as a frame: 16-bit ones as s16, float32 ones as fltp."""
    import av

    layout: Any = "s16" if samples.dtype == np.int16 else "fltp"
    frame = av.AudioFrame.from_ndarray(samples[None, :], format=layout, layout="mono")
    frame.sample_rate = rate_hz
    return frame


def joined(packets: Iterable[Any]) -> bytes:
    """Return the bytes of packets."""
    return b"".join(bytes(packet) for packet in packets)
