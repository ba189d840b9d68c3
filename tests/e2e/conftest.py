"""Services that many tests share: nothing that these tests do may end or slow down a process of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.service import Service, engine_options, running


@pytest.fixture(scope="session")
def tone() -> Iterator[Service]:
    """Two workers of the tone engine, default settings, faults allowed."""
    with running("--engine", "tone", env=engine_options(faults=True)) as service:
        yield service


@pytest.fixture(scope="session")
def hibari() -> Iterator[Service]:
    """The default service: the embedded voice, two workers."""
    with running() as service:
        yield service


@pytest.fixture(params=["tone", "hibari"])
def either(request: pytest.FixtureRequest) -> Service:
    """Each of the two in turn."""
    service: Service = request.getfixturevalue(request.param)
    return service


@pytest.fixture(scope="session")
def paced() -> Iterator[Service]:
    """One worker that makes five seconds of audio a second."""
    with running("--engine", "tone", "--workers", "1", env=engine_options(step_cost_s=0.05, faults=True)) as service:
        yield service


@pytest.fixture(scope="session")
def fragile() -> Iterator[Service]:
    """Two workers that are watched closely and may be killed; each makes 25 seconds of audio a second."""
    limits = {
        "TTS_SERVICE_WORKERS_HEARTBEAT_S": "0.25",
        "TTS_SERVICE_WORKERS_STEP_TIMEOUT_S": "1",
        "TTS_SERVICE_WORKERS_PREPARE_TIMEOUT_S": "1",
        "TTS_SERVICE_WORKERS_BACKOFF_MAX_S": "0.2",
    }
    with running("--engine", "tone", env=engine_options(step_cost_s=0.01, faults=True) | limits) as service:
        yield service
