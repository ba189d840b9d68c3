"""WAV files as servers send them."""

from __future__ import annotations

import struct

RATE_HZ = 16000


def wav(n_samples: int, *, size: int | None = None, extra: bytes = b"", rate_hz: int = RATE_HZ) -> bytes:
    """Return a mono file of silence; `size` is what its header says of the data, `extra` are chunks before it."""
    data = bytes(2 * n_samples)
    size = len(data) if size is None else size
    fmt = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate_hz, 2 * rate_hz, 2, 16)
    return b"RIFF" + struct.pack("<I", 0xFFFFFFFF) + b"WAVE" + fmt + extra + struct.pack("<4sI", b"data", size) + data
