"""What the raw loop of an engine is made of."""

from __future__ import annotations

import os

import pytest

from support.piper_voices import joe_directory
from tts_service.bench.raw_loop import worker_specs
from tts_service.runtime_dir import RuntimeDir
from tts_service.settings import load
from tts_workers.plan import make_plan
from tts_workers.sysfs import read_machine


@pytest.mark.parametrize("n_workers", [1, 2])
def test_the_limit_is_that_of_the_workers_without_the_wide_one(n_workers: int) -> None:
    flags = {"pool.engine": "piper", "pool.models": str(joe_directory()), "pool.workers": str(n_workers)}
    flags["pool.threads"] = "1"
    settings = load(None, {}, flags).settings
    specs = worker_specs(settings)
    assert len(specs) == n_workers
    assert not any(spec.wide for spec in specs)
    planned = make_plan(settings, RuntimeDir(joe_directory()), read_machine(set(os.sched_getaffinity(0)))).specs
    if len(os.sched_getaffinity(0)) >= 2 and n_workers == 2:
        assert len(planned) == n_workers + 1
