"""Real control groups: a quota and a cpuset are seen by the plan, kept by the service, and it serves within them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from support.control_groups import limited
from support.service import running

pytestmark = pytest.mark.system

PLAN = (sys.executable, "-m", "tts_service", "plan", "--engine", "tone")


def plan(prefix: tuple[str, ...], *flags: str) -> dict[str, Any]:
    """Return the plan that a command in a group makes."""
    done = subprocess.run([*prefix, *PLAN, *flags, "--json"], capture_output=True, text=True, check=True)
    value: dict[str, Any] = json.loads(done.stdout)
    return value


@pytest.mark.parametrize(("quota", "n_workers"), [(0.5, 1), (1.0, 1), (1.5, 1)])
def test_a_quota_counts_like_missing_cores(quota: float, n_workers: int) -> None:
    with limited(quota=quota) as prefix:
        found = plan(prefix)
        assert found["machine"]["quota"] == quota
        assert len(found["workers"]) == n_workers
        assert any("quota" in warning for warning in found["warnings"])


def test_more_workers_than_the_quota_carries_are_refused() -> None:
    with limited(quota=1.5) as prefix:
        done = subprocess.run([*prefix, *PLAN, "--workers", "2"], capture_output=True, text=True, check=False)
        assert done.returncode == 71
        assert "quota is 1.5" in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_a_service_below_one_cpu_answers() -> None:
    with limited(quota=0.5) as prefix, running("--engine", "tone", prefix=prefix) as service:
        assert len(service.pcm("Half a CPU is enough for this.")) > 0


def test_a_service_in_a_cpuset_of_one_cpu_stays_in_it() -> None:
    cpu = max(os.sched_getaffinity(0))
    with limited(cpus=str(cpu)) as prefix, running("--engine", "hibari", prefix=prefix) as service:
        (worker,) = service.workers()
        assert worker["cpus"] == [cpu]
        assert worker["faults"] == []
        assert len(service.pcm("One CPU of a set.")) > 0
        assert all(process.cpu_affinity() == [cpu] for process in service.processes())
