"""Keeps finished segments by a hash of all that their audio depends on. Used by the gateway's request threads."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Protocol

import msgspec

from tts_service import __version__
from tts_service.gateway.disk_store import DiskStore
from tts_service.gateway.finished_segment import FinishedSegment, pack, unpack
from tts_service.gateway.memory_store import MemoryStore
from tts_service.gateway.pcm import Float32
from tts_service.protocol import CacheUse, Job, PoolInfo, Word
from tts_service.settings import GatewaySettings

# Changes with whatever changes keys or the meaning of entries.
CACHE_VERSION = 2
KEY_BYTES = 32


class Store(Protocol):
    """Where the samples are."""

    def get(self, key: bytes) -> Float32 | None:
        """Return what was kept, or None."""

    def put(self, key: bytes, samples: Float32) -> int:
        """Keep samples (n,); return how many entries had to leave."""

    def use(self) -> CacheUse:
        """Return how full it is."""


class ResultCache:
    """Finds and keeps the segments of jobs."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, job: Job, pool: PoolInfo) -> FinishedSegment | None:
        """Return the whole audio of a job, bit for bit what a worker would make of it, and its words, or None."""
        entry = self._store.get(key_of(job, pool))
        segment = unpack(entry) if entry is not None else None
        # Made when longer segments were allowed: the engine shall say that it is too long.
        return segment if segment is None or len(segment.samples) <= job.max_samples else None

    def put(self, job: Job, pool: PoolInfo, samples: Float32, words: tuple[Word, ...] = ()) -> int:
        """Keep the whole audio of a job; return how many others had to leave for it."""
        return self._store.put(key_of(job, pool), pack(samples, words))

    def use(self) -> CacheUse:
        """Return how full it is."""
        return self._store.use()


def make_cache(settings: GatewaySettings) -> ResultCache | None:
    """Return the cache that the settings ask for, opened; None for none."""
    if not settings.cache_mib:
        return None
    limit_bytes = settings.cache_mib << 20
    if not settings.cache_dir:
        return ResultCache(MemoryStore(limit_bytes))
    store = DiskStore(Path(settings.cache_dir).absolute(), limit_bytes)
    store.open()
    return ResultCache(store)


def key_of(job: Job, pool: PoolInfo) -> bytes:
    """Return the hash over everything that fixes the audio of a job of this pool, and over nothing else.

    The generation stands for the engine with its options, its model files and, where they matter, its threads.
    """
    engine = pool.engine
    facts = (
        CACHE_VERSION,
        __version__,
        engine.name,
        engine.model_hash,
        engine.sample_rate_hz,
        job.generation,
        job.voice,
        job.text,
        job.language,
        job.speed,
        job.seed,
        False if engine.mode_invariant else job.streamed,
    )
    return hashlib.blake2b(msgspec.msgpack.encode(facts), digest_size=KEY_BYTES).digest()
