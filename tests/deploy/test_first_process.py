"""The service as the first process of a container: it ends when told to, and collects what nobody else would."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import psutil
import pytest

from support.service import Service, running, wait_until
from tts_service.errors import ExitCode

pytestmark = pytest.mark.system

CONTAINER = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")


@pytest.fixture
def service() -> Iterator[Service]:
    with running("--engine", "tone", prefix=CONTAINER) as service:
        yield service
        # unshare itself hears no signal.
        if service.process.poll() is None:
            first(service).terminate()


def first(service: Service) -> psutil.Process:
    """Return the process that is number 1 inside."""
    return service.named("tts-service")[0]


def test_workers_that_lose_their_parent_leave_no_zombies(service: Service) -> None:
    for _ in range(2):
        (half,) = service.named("tts-workers")
        half.send_signal(signal.SIGKILL)
        half_is_back = lambda half=half: [p.pid for p in service.named("tts-workers")] not in ([], [half.pid])  # noqa: E731
        wait_until(half_is_back, 10.0, "a new dispatcher")
        assert service.pcm("Back again.")
    wait_until(
        lambda: not [p for p in first(service).children(recursive=True) if p.status() == psutil.STATUS_ZOMBIE],
        5.0,
        "no zombies",
    )
    assert len(first(service).children(recursive=True)) == 5


def test_the_first_process_ends_in_order_when_it_is_told_to(service: Service) -> None:
    first(service).send_signal(signal.SIGTERM)
    assert service.process.wait(20) == ExitCode.OK
    assert "stopped" in service.text_of_log()
