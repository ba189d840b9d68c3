"""G.711, telephony's 8 bits a sample, by FFmpeg's table. Pure."""

from __future__ import annotations

import functools
from typing import Literal

import numpy as np
import numpy.typing as npt

from tts_service.gateway.ffmpeg import frame_of, joined, open_codec
from tts_service.gateway.pcm import Int16

Law = Literal["ulaw", "alaw"]
TELEPHONY_RATE_HZ = 8000
_CODECS = {"ulaw": "pcm_mulaw", "alaw": "pcm_alaw"}


def compressed(pcm: Int16, law: Law) -> bytes:
    """Return (n,) samples as n bytes."""
    return _table(law)[pcm.view(np.uint16)].tobytes()


@functools.cache
def _table(law: Law) -> npt.NDArray[np.uint8]:
    """Return the code of each 16-bit sample, (65536,), made once a process."""
    samples = np.arange(65536, dtype=np.uint16).view(np.int16)
    codec = open_codec(_CODECS[law], TELEPHONY_RATE_HZ)
    coded = joined([*codec.encode(frame_of(samples, TELEPHONY_RATE_HZ)), *codec.encode(None)])
    return np.frombuffer(coded, np.uint8)
