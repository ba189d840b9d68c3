"""Segments kept on disk: whole or not at all, bounded, shared, and never in anybody's way."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tts_service.errors import CannotStart
from tts_service.gateway import disk_store as module
from tts_service.gateway.disk_store import BLOCK_BYTES, DiskStore, check_private
from tts_service.gateway.pcm import Float32
from tts_service.protocol import CacheUse

A, B, C, D = (bytes([number]) * 32 for number in range(1, 5))
MIB = 1 << 20


def samples(seed: int = 1, n_samples: int = 3000) -> Float32:
    """Return audio of its own; three blocks on disk."""
    return np.random.default_rng(seed).uniform(-1, 1, n_samples).astype(np.float32)


ONE = 3 * BLOCK_BYTES


def opened(directory: Path, limit_bytes: int = MIB) -> DiskStore:
    """Return a store that is open."""
    store = DiskStore(directory / "cache", limit_bytes)
    store.open()
    return store


def used_at(store: DiskStore, key: bytes, when_s: float) -> None:
    """Say when an entry was used last."""
    os.utime(store.directory / f"{key.hex()}.seg", (when_s, when_s))


def test_what_was_kept_is_found_by_every_process_that_shares_the_directory(tmp_path: Path) -> None:
    first, second = opened(tmp_path), opened(tmp_path)
    assert first.get(A) is None
    first.put(A, samples())
    for store in (first, second, opened(tmp_path)):
        found = store.get(A)
        assert found is not None
        assert found.tobytes() == samples().tobytes()
        assert store.use() == CacheUse(ONE, 1, shared=True)


def test_directory_and_files_are_private(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.put(A, samples())
    assert store.directory.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in store.directory.iterdir()} == {0o600}


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_a_directory_that_is_open_to_others_is_refused_and_left_as_it_is(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    with pytest.raises(CannotStart, match=rf"gateway.cache_dir = {tmp_path}: it is open to others \(mode {mode:o}\)"):
        check_private(tmp_path)
    assert tmp_path.stat().st_mode & 0o777 == mode


def test_a_file_or_link_in_the_directory_s_place_is_refused_and_a_missing_one_is_not(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for name in ("file", "link"):
        with pytest.raises(CannotStart, match="expected a directory of uid"):
            check_private(tmp_path / name)
    check_private(tmp_path / "real")
    check_private(tmp_path / "missing")


def test_the_least_recently_used_leave_first_and_the_limit_holds(tmp_path: Path) -> None:
    store = opened(tmp_path, 3 * ONE)
    for when_s, key in enumerate((A, B, C)):
        assert store.put(key, samples()) == 0
        used_at(store, key, 1e9 + when_s)
    store.get(A)
    assert store.put(D, samples()) == 1
    assert [store.get(key) is not None for key in (A, B, C, D)] == [True, False, True, True]
    assert store.use() == CacheUse(3 * ONE, 3, shared=True)


def test_a_smaller_limit_holds_from_the_next_start(tmp_path: Path) -> None:
    store = opened(tmp_path)
    for key in (A, B, C, D):
        store.put(key, samples())
    assert opened(tmp_path, 2 * ONE).use().n_bytes <= 2 * ONE


def test_what_is_larger_than_the_whole_cache_is_not_kept_and_drives_nothing_out(tmp_path: Path) -> None:
    store = opened(tmp_path, ONE)
    store.put(A, samples())
    assert store.put(B, samples(2, 4000)) == 0
    assert (store.get(A) is not None, store.get(B)) == (True, None)


@pytest.mark.parametrize("damage", ["truncated", "one bit", "empty", "another key's", "other magic"])
def test_a_damaged_entry_is_found_dropped_and_no_longer_counted(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = opened(tmp_path)
    store.put(A, samples(1))
    store.put(B, samples(2))
    path = store.directory / f"{A.hex()}.seg"
    data = bytearray(path.read_bytes())
    flipped = bytearray(data)
    flipped[5000] ^= 1
    path.write_bytes(
        {
            "truncated": data[:-8],
            "one bit": flipped,
            "empty": b"",
            "another key's": (store.directory / f"{B.hex()}.seg").read_bytes(),
            "other magic": b"TTSC0000" + data[8:],
        }[damage]
    )
    assert store.get(A) is None
    assert not path.exists()
    assert "damaged" in caplog.text
    assert store.use() == CacheUse(ONE, 1, shared=True)
    store.put(A, samples(1))
    found = store.get(A)
    assert found is not None
    assert np.array_equal(found, samples(1))


def test_a_write_that_was_killed_leaves_nothing_that_is_heard_and_is_tidied_up(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.put(B, samples())
    code = (
        "import os, pathlib, sys, numpy as np\n"
        "from tts_service.gateway.disk_store import DiskStore\n"
        "pathlib.Path.rename = lambda self, target: os.kill(os.getpid(), 9)\n"
        f"DiskStore(pathlib.Path({str(store.directory)!r}), {MIB}).put({A!r}, np.ones(3000, np.float32))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    assert list(store.directory.glob("*.part"))
    assert store.get(A) is None
    # Its lock died with it.
    assert store.put(C, samples()) == 0
    assert store.get(C) is not None
    again = opened(tmp_path)
    assert not list(store.directory.glob("*.part"))
    assert again.use() == CacheUse(2 * ONE, 2, shared=True)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EIO])
def test_a_disk_that_takes_nothing_means_misses_and_one_line_in_the_log(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = opened(tmp_path)
    store.put(A, samples())

    def full(path: Path, target: Path) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
        patched.setattr(Path, "rename", full)
        patched.setattr(module, "PAUSE_S", 0.0)
        assert [store.put(key, samples()) for key in (B, C, D)] == [0, 0, 0]
        assert store.get(A) is not None
        assert store.get(B) is None
        assert not list(store.directory.glob("*.part"))
    (record,) = caplog.records
    assert os.strerror(number) in record.getMessage()
    # It works again, and what goes wrong then is news.
    store.put(B, samples())
    assert store.get(B) is not None
    assert not store._complained


def test_after_an_error_nothing_is_stored_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = opened(tmp_path)
    n_tries = 0

    def full(path: Path, target: Path) -> None:
        nonlocal n_tries
        n_tries += 1
        raise OSError(errno.ENOSPC, "no space")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", full)
        for _ in range(5):
            store.put(A, samples())
    assert n_tries == 1
    store.put(A, samples())
    assert store.get(A) is None


def test_a_directory_that_cannot_be_made_or_has_vanished_means_misses(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    store = DiskStore(tmp_path / "file" / "cache", MIB)
    store.open()
    assert (store.put(A, samples()), store.get(A), store.use()) == (0, None, CacheUse(0, 0, shared=True))
    assert len(caplog.records) == 1


def test_nobody_waits_for_a_process_that_holds_the_lock_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOCK_TIMEOUT_S", 0.05)
    store = opened(tmp_path)
    store.put(A, samples())
    with (store.directory / "usage").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert store.put(B, samples()) == 0
        assert store.get(A) is not None
        opened(tmp_path)
    assert store.get(B) is None
    store.put(B, samples())
    assert store.get(B) is not None


def test_many_threads_of_several_stores_keep_limit_and_count(tmp_path: Path) -> None:
    stores = [opened(tmp_path, 12 * ONE) for _ in range(3)]

    def use(number: int) -> bool:
        store, key = stores[number % 3], bytes([number % 20]) * 32
        found = store.get(key)
        if found is None:
            store.put(key, samples(number % 20))
        return found is None or np.array_equal(found, samples(number % 20))

    with ThreadPoolExecutor(6) as threads:
        assert all(threads.map(use, range(300)))
    on_disk = sum(-(-path.stat().st_size // BLOCK_BYTES) * BLOCK_BYTES for path in stores[0].directory.glob("*.seg"))
    assert stores[0].use().n_bytes == on_disk <= 12 * ONE
    assert opened(tmp_path, 12 * ONE).use().n_bytes == on_disk
