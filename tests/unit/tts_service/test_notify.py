"""What a service manager is told, and when: readiness once, the watchdog often enough, nothing where there is none."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tts_service.notify import VARIABLES, Notifier


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.setblocking(False)
        yield manager


def heard(manager: socket.socket) -> list[str]:
    found = []
    while True:
        try:
            found.append(manager.recv(1000).decode())
        except BlockingIOError:
            return found


def test_the_manager_hears_what_it_is_told(manager: socket.socket) -> None:
    notifier = Notifier(manager.getsockname())
    notifier.ready()
    notifier.status("2 workers")
    notifier.stopping()
    assert heard(manager) == ["READY=1", "STATUS=2 workers", "STOPPING=1"]


def test_the_watchdog_is_fed_four_times_within_its_limit_and_not_at_every_turn(manager: socket.socket) -> None:
    notifier = Notifier(manager.getsockname(), watchdog_s=8.0)
    for tick in range(160):
        notifier.feed(tick / 10)
    assert heard(manager) == ["WATCHDOG=1"] * 8


def test_an_abstract_address_is_understood() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0tts-test-{os.getpid()}")
        Notifier(f"@tts-test-{os.getpid()}").ready()
        assert manager.recv(100) == b"READY=1"


def test_without_a_manager_or_with_one_that_is_gone_nothing_happens(tmp_path: Path) -> None:
    Notifier().ready()
    Notifier(str(tmp_path / "gone"), 1.0).feed(0.0)


@pytest.mark.parametrize(
    ("pid", "keep", "limit_s"),
    [(str(os.getpid()), False, 30.0), ("1", False, 0.0), ("1", True, 30.0), (None, False, 30.0)],
)
def test_variables_that_are_meant_for_another_process_feed_no_watchdog(
    pid: str | None, keep: bool, limit_s: float
) -> None:
    environ = {"NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "30000000", "LISTEN_FDS": "1", "HOME": "/"}
    environ |= {"WATCHDOG_PID": pid} if pid else {}
    before = dict(environ)
    assert Notifier.from_environment(environ, keep=keep).watchdog_s == limit_s
    # Children are not the process that the manager waits for.
    assert environ == (before if keep else {name: value for name, value in before.items() if name not in VARIABLES})
