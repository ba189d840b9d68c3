"""Segments kept in memory: bounded in bytes, the least recently used leave first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tts_service.gateway.memory_store import ENTRY_BYTES, MemoryStore
from tts_service.gateway.pcm import Float32
from tts_service.protocol import CacheUse


def samples(value: float, n_samples: int = 1000) -> Float32:
    """Return audio that is easy to tell from others."""
    return np.full(n_samples, value, np.float32)


ONE = 4000 + ENTRY_BYTES


def test_what_was_kept_is_found_and_cannot_be_changed() -> None:
    store = MemoryStore(10 * ONE)
    assert store.get(b"a") is None
    store.put(b"a", samples(0.5))
    found = store.get(b"a")
    assert found is not None
    assert np.array_equal(found, samples(0.5))
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 1.0
    assert store.use() == CacheUse(ONE, 1, shared=False)


def test_the_least_recently_used_leave_first_and_are_counted() -> None:
    store = MemoryStore(3 * ONE)
    assert [store.put(key, samples(0.1)) for key in (b"a", b"b", b"c")] == [0, 0, 0]
    store.get(b"a")
    assert store.put(b"d", samples(0.2)) == 1
    assert [store.get(key) is not None for key in (b"a", b"b", b"c", b"d")] == [True, False, True, True]
    assert store.put(b"e", samples(0.2, 2500)) == 3
    assert store.use().n_entries == 1


def test_what_is_larger_than_the_whole_cache_is_not_kept_and_drives_nothing_out() -> None:
    store = MemoryStore(ONE)
    store.put(b"a", samples(0.1))
    assert store.put(b"b", samples(0.1, 1001)) == 0
    assert store.get(b"a") is not None
    assert store.get(b"b") is None


def test_many_threads_never_exceed_the_limit_nor_get_another_key_s_samples() -> None:
    store = MemoryStore(20 * ONE)

    def use(number: int) -> bool:
        key = number % 40
        found = store.get(bytes([key]))
        if found is None:
            store.put(bytes([key]), samples(float(key)))
        return (found is None or found[0] == key) and store.use().n_bytes <= 20 * ONE

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(use, range(4000)))
