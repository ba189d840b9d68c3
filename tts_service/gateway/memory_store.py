"""Finished segments in the memory of one gateway process, the least recently used leave first. Any thread."""

from __future__ import annotations

import threading

import cachetools

from tts_service.gateway.pcm import Float32
from tts_service.protocol import CacheUse

# Key, array object and bookkeeping of an entry, which many short prompts would not be free of.
ENTRY_BYTES = 512


class _Lru(cachetools.LRUCache[bytes, Float32]):
    """Counts what it evicts."""

    n_evicted = 0

    def popitem(self) -> tuple[bytes, Float32]:
        self.n_evicted += 1
        return super().popitem()


class MemoryStore:
    """Samples by key, at most `limit_bytes` of them. What it hands out is read-only and shared."""

    def __init__(self, limit_bytes: int) -> None:
        self._entries = _Lru(limit_bytes, getsizeof=lambda samples: samples.nbytes + ENTRY_BYTES)
        self._lock = threading.Lock()

    def get(self, key: bytes) -> Float32 | None:
        """Return the samples (n,), or None."""
        with self._lock:
            return self._entries.get(key)

    def put(self, key: bytes, samples: Float32) -> int:
        """Keep samples (n,), which become read-only; return how many entries had to leave for them."""
        if samples.nbytes + ENTRY_BYTES > self._entries.maxsize:
            return 0
        samples.flags.writeable = False
        with self._lock:
            before = self._entries.n_evicted
            self._entries[key] = samples
            return self._entries.n_evicted - before

    def use(self) -> CacheUse:
        """Return how full it is."""
        with self._lock:
            return CacheUse(int(self._entries.currsize), len(self._entries), shared=False)
