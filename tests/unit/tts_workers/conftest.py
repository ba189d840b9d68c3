"""Real workers' halves that several tests share; each test finds them idle and whole, and leaves them so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.fake_gateway import FakeGateway
from support.service import engine_options
from support.workers_half import QUICK_LIMITS, Half, running_half


@pytest.fixture(scope="session")
def half() -> Iterator[Half]:
    """Two workers of the tone engine with two slots each, faults allowed, time limits as short as they can be."""
    flags = ("--engine", "tone", "--workers", "2", "--slots", "2")
    with running_half(*flags, env=QUICK_LIMITS | engine_options(faults=True)) as half:
        yield half


@pytest.fixture
def gateway(half: Half) -> Iterator[FakeGateway]:
    """A gateway that has been welcomed by `half`, all of whose workers are warm."""
    with FakeGateway(half.runtime_dir) as gateway:
        gateway.wait_warm()
        gateway.wait(
            lambda: [worker.state for worker in gateway.status().workers] == ["ready"] * 2, "both workers ready"
        )
        yield gateway
