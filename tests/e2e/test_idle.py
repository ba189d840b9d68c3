"""Promise 7: a service without requests uses next to nothing."""

from __future__ import annotations

import time

import pytest

from support.service import Service, wait_until

pytestmark = pytest.mark.system


def cpu_s(service: Service) -> float:
    """Return the CPU time of all processes of the service so far, their ended children included."""
    return sum(sum(process.cpu_times()[:4]) for process in service.processes())


def idle_share(service: Service, wall_s: float) -> float:
    """Return CPU seconds a second while nobody asks for anything."""
    service.wait_idle()
    start, before = time.monotonic(), cpu_s(service)
    # Asking the service would be work for it.
    wait_until(lambda: time.monotonic() - start > wall_s, wall_s + 5.0, "time")
    return (cpu_s(service) - before) / (time.monotonic() - start)


def test_cpu_08_an_idle_service_uses_less_than_a_hundredth_of_a_core(hibari: Service) -> None:
    assert hibari.pcm("Then silence.")
    assert idle_share(hibari, 6.0) < 0.01


@pytest.mark.drill
def test_cpu_08_an_idle_service_stays_idle_for_half_a_minute(either: Service) -> None:
    assert either.pcm("Then silence.")
    assert idle_share(either, 30.0) < 0.01
