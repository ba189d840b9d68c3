"""Readings from /proc: right for this process, zero for one that is gone."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable

import psutil
import pytest

from tts_service import procfs

READINGS: list[Callable[[int], float]] = [
    procfs.live_threads,
    procfs.voluntary_switches,
    procfs.rss_bytes,
    procfs.pss_bytes,
    procfs.cpu_seconds,
    procfs.waited_for_cpu_s,
]
ME = os.getpid()


def test_threads_are_counted_while_they_live() -> None:
    code = """
import threading
release = threading.Event()
threads = [threading.Thread(target=release.wait) for _ in range(3)]
for thread in threads: thread.start()
print("started", flush=True)
input()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"started\n"
        assert procfs.live_threads(child.pid) == 4
        child.kill()


def test_every_voluntary_switch_of_every_thread_counts() -> None:
    before = procfs.voluntary_switches(ME)
    for _ in range(20):
        time.sleep(0.001)
    assert procfs.voluntary_switches(ME) >= before + 20


def test_memory_is_in_bytes_and_a_share_is_no_more_than_all() -> None:
    assert procfs.rss_bytes(ME) == pytest.approx(psutil.Process().memory_info().rss, rel=0.05)
    assert 0 < procfs.pss_bytes(ME) <= procfs.rss_bytes(ME) * 1.05


def test_cpu_time_is_what_the_kernel_says_of_user_and_system() -> None:
    before = os.times()
    seconds = procfs.cpu_seconds(ME)
    after = os.times()
    assert before.user + before.system - 0.02 <= seconds <= after.user + after.system + 0.02


def test_waiting_for_a_cpu_only_grows() -> None:
    first = procfs.waited_for_cpu_s(ME)
    assert 0.0 <= first <= procfs.waited_for_cpu_s(ME)


def test_children_are_those_that_live() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        assert child.pid in procfs.children(ME)
        assert procfs.live_threads(child.pid) == 1
        child.communicate(timeout=5.0)
    assert child.pid not in procfs.children(ME)


def test_a_process_whose_name_looks_like_numbers_is_read_right() -> None:
    code = "import ctypes; ctypes.CDLL(None).prctl(15, b'a) R 1 2 3', 0, 0, 0); sum(range(10**7)); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as child:
        deadline = time.monotonic() + 5.0
        while psutil.Process(child.pid).name() != "a) R 1 2 3":
            assert time.monotonic() < deadline
        while not 0 < procfs.cpu_seconds(child.pid) < 5:
            assert time.monotonic() < deadline
        child.communicate(b"\n", timeout=5.0)


@pytest.mark.parametrize("reading", READINGS)
def test_a_process_that_is_gone_reads_as_zero(reading: Callable[[int], float]) -> None:
    with subprocess.Popen(["true"]) as child:
        child.wait()
    assert reading(child.pid) == 0
    assert procfs.children(child.pid) == []
