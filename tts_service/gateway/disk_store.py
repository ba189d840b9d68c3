"""Finished segments as files in one private directory, shared by gateway processes and `render`. Any thread.

An entry appears whole or not at all and carries a checksum. What changes the directory holds its lock, under which the
file `usage` is kept: bytes and entries. A file's time is that of its last use; the oldest leave first.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import stat
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tts_service.errors import CannotStart
from tts_service.gateway.pcm import Float32
from tts_service.protocol import CacheUse

logger = logging.getLogger(__name__)

MAGIC = b"TTSC0001"
DIGEST_BYTES = 16
HEADER_BYTES = len(MAGIC) + DIGEST_BYTES
SUFFIX, PART = ".seg", ".part"
# Files take whole blocks.
BLOCK_BYTES = 4096
# A full cache is emptied by more than the one entry needs, so that not each new one reads the whole directory.
KEPT_WHEN_FULL = 0.9
# Nobody's request waits longer for another process that holds the lock.
LOCK_TIMEOUT_S = 0.5
LOCK_RETRY_S = 0.005
# After an error nothing is stored for so long.
PAUSE_S = 30.0


def check_private(directory: Path) -> None:
    """Raise CannotStart where `directory` is there and others could read or change what is in it."""
    try:
        found = directory.lstat()
    except OSError:
        return
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise CannotStart(f"gateway.cache_dir = {directory}: expected a directory of uid {os.getuid()}")
    mode = stat.S_IMODE(found.st_mode)
    if mode & 0o077:
        raise CannotStart(
            f"gateway.cache_dir = {directory}: it is open to others (mode {mode:o}): expected a directory of its own "
            "with mode 700, or one that does not exist yet"
        )


class DiskStore:
    """Samples by key, at most `limit_bytes` of files. Any failure of the disk means a miss, and one line in the log."""

    def __init__(self, directory: Path, limit_bytes: int) -> None:
        self.directory = directory
        self._limit_bytes = limit_bytes
        self._thread_lock = threading.Lock()
        self._paused_until_s = 0.0
        self._complained = False

    def open(self) -> None:
        """Make the directory if need be, remove what killed processes left, and count what is there."""
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._locked() as lock:
                if lock >= 0:
                    self._tidy(lock)
        except OSError as error:
            self._failed(error)

    def get(self, key: bytes) -> Float32 | None:
        """Return the samples (n,), or None. A damaged entry is dropped."""
        path = self._path(key)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._failed(error)
            return None
        payload = memoryview(data)[HEADER_BYTES:]
        if data[:HEADER_BYTES] != _header(key, payload):
            logger.warning("a cached segment is damaged and is dropped: %s", path.name)
            self._drop(path)
            return None
        try:
            os.utime(path)
        except OSError:
            # Evicted meanwhile, or a read-only disk: then its turn comes earlier.
            pass
        return np.frombuffer(payload, "<f4")

    def put(self, key: bytes, samples: Float32) -> int:
        """Keep samples (n,) if that can be done now; return how many entries had to leave for them."""
        payload = np.ascontiguousarray(samples, "<f4").data.cast("B")
        size = _on_disk(HEADER_BYTES + len(payload))
        if size > self._limit_bytes or time.monotonic() < self._paused_until_s:
            return 0
        try:
            with self._locked() as lock:
                return self._store(lock, key, payload, size) if lock >= 0 else 0
        except OSError as error:
            self._failed(error)
            return 0

    def use(self) -> CacheUse:
        """Return how full it is, by all who share it."""
        try:
            return CacheUse(*_unpack((self.directory / "usage").read_bytes()), shared=True)
        except OSError:
            return CacheUse(0, 0, shared=True)

    def _path(self, key: bytes) -> Path:
        return self.directory / f"{key.hex()}{SUFFIX}"

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """Hold the directory; yield the open file `usage`, or -1 where somebody else holds it for too long."""
        give_up_s = time.monotonic() + LOCK_TIMEOUT_S
        if not self._thread_lock.acquire(timeout=LOCK_TIMEOUT_S):
            yield -1
            return
        try:
            handle = os.open(self.directory / "usage", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                yield handle if _lock(handle, give_up_s) else -1
            finally:
                os.close(handle)
        finally:
            self._thread_lock.release()

    def _store(self, lock: int, key: bytes, payload: memoryview, size: int) -> int:
        path = self._path(key)
        if path.exists():
            # Another request, or another process, was faster.
            return 0
        n_bytes, n_entries = _unpack(os.pread(lock, 16, 0))
        n_evicted = 0
        if n_bytes + size > self._limit_bytes:
            n_bytes, n_entries, n_evicted = self._evict(size)
        part = path.with_suffix(PART)
        try:
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
                file.write(_header(key, payload))
                file.write(payload)
            part.rename(path)
        except OSError:
            part.unlink(missing_ok=True)
            raise
        os.pwrite(lock, struct.pack("<QQ", n_bytes + size, n_entries + 1), 0)
        self._complained = False
        return n_evicted

    def _tidy(self, lock: int) -> None:
        # Parts are written under the lock: these are nobody's.
        for part in self.directory.glob(f"*{PART}"):
            part.unlink(missing_ok=True)
        n_bytes, n_entries, _ = self._evict(0)
        os.pwrite(lock, struct.pack("<QQ", n_bytes, n_entries), 0)

    def _evict(self, size: int) -> tuple[int, int, int]:
        """Make room for `size` bytes, where there is none; return bytes and entries that stay, and how many left."""
        entries = []
        for entry in os.scandir(self.directory):
            if entry.name.endswith(SUFFIX):
                found = entry.stat(follow_symlinks=False)
                entries.append((found.st_mtime_ns, entry.path, _on_disk(found.st_size)))
        n_bytes = sum(entry[2] for entry in entries)
        n_evicted = 0
        if n_bytes + size > self._limit_bytes:
            entries.sort()
            aim = min(round(self._limit_bytes * KEPT_WHEN_FULL), self._limit_bytes - size)
            for _, path, length in entries:
                if n_bytes <= aim:
                    break
                Path(path).unlink(missing_ok=True)
                n_bytes -= length
                n_evicted += 1
        return n_bytes, len(entries) - n_evicted, n_evicted

    def _drop(self, path: Path) -> None:
        try:
            with self._locked() as lock:
                if lock >= 0:
                    path.unlink(missing_ok=True)
                    self._tidy(lock)
        except OSError as error:
            self._failed(error)

    def _failed(self, error: OSError) -> None:
        """Say once what is wrong, until something could be stored again."""
        self._paused_until_s = time.monotonic() + PAUSE_S
        if not self._complained:
            self._complained = True
            reason = error.strerror or error
            logger.warning(
                "gateway.cache_dir = %s cannot be used now (%s): speaking without it", self.directory, reason
            )


def _lock(handle: int, give_up_s: float) -> bool:
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            # flock knows no time limit; a process that is stopped while it holds the lock must stop nobody else.
            if time.monotonic() > give_up_s:
                return False
            time.sleep(LOCK_RETRY_S)


def _header(key: bytes, payload: memoryview) -> bytes:
    # The key is part of it, so that a file under another's name is damaged, too.
    return MAGIC + hashlib.blake2b(payload, digest_size=DIGEST_BYTES, key=key).digest()


def _unpack(usage: bytes) -> tuple[int, int]:
    n_bytes, n_entries = struct.unpack("<QQ", usage) if len(usage) == 16 else (0, 0)
    return n_bytes, n_entries


def _on_disk(n_bytes: int) -> int:
    return -(-n_bytes // BLOCK_BYTES) * BLOCK_BYTES
