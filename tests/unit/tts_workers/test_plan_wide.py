"""Which pools get a wide worker, where it runs, and what `tts-service plan` shows of it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from support.synthetic_vits import Build, write_voice
from tts_service.errors import SettingsError
from tts_service.runtime_dir import RuntimeDir
from tts_service.settings import PoolSettings, Settings
from tts_workers.machine import Cpu, Machine
from tts_workers.plan import Plan, make_plan
from tts_workers.plan_drawing import draw_plan, plan_as_json


def machine(n_cpus: int) -> Machine:
    return Machine(tuple(Cpu(n, n, 0, 0, 0, 1.0) for n in range(n_cpus)), frozenset(range(n_cpus)))


def plan(n_cpus: int, **pools: PoolSettings) -> Plan:
    return make_plan(Settings(pools=pools), RuntimeDir(Path("/run/x")), machine(n_cpus))


def tone(**changes: Any) -> PoolSettings:
    return PoolSettings(engine="tone", **changes)


@pytest.fixture(scope="module")
def voices(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = tmp_path_factory.mktemp("voices")
    write_voice(directory, "one", Build())
    return str(directory)


def test_it_is_one_worker_more_on_all_cpus_of_its_pool() -> None:
    made = plan(6, first=tone(workers=2, threads=2, wide=True), second=tone(workers=2))
    assert [(spec.index, spec.pool, spec.wide) for spec in made.specs] == [
        (0, "first", False), (1, "first", False), (2, "second", False), (3, "second", False), (4, "first", True)
    ]  # fmt: skip
    wide = made.specs[4]
    assert wide.cpus == sorted(made.specs[0].cpus + made.specs[1].cpus)
    assert (wide.n_threads, wide.n_slots) == (4, 1)
    links = made.pools["first"]
    assert [(link.index, link.n_threads) for link in links.all_workers] == [(0, 2), (1, 2), (4, 4)]
    assert made.pools["second"].wide is None


def test_auto_is_for_engines_that_gain_from_it_and_keep_their_samples(voices: str) -> None:
    assert not plan(2, default=tone()).cpu_plan.wide
    assert not plan(2, default=PoolSettings(engine="hibari")).cpu_plan.wide
    assert plan(2, default=PoolSettings(engine="piper", models=voices)).cpu_plan.wide
    assert not plan(2, default=PoolSettings(engine="piper", models=voices, wide=False)).cpu_plan.wide


def test_an_engine_whose_samples_depend_on_threads_is_refused_by_name() -> None:
    with pytest.raises(SettingsError, match=r"pools\.mine\.wide = true: the samples of engine hibari depend on"):
        plan(2, mine=PoolSettings(engine="hibari", wide=True))


def test_a_single_worker_is_wide_already(voices: str) -> None:
    made = plan(2, default=tone(workers=1, threads=2, wide=True))
    assert made.cpu_plan.wide == []
    assert made.cpu_plan.warnings == ["default gets no wide worker: its only worker has all of the pool's CPUs"]
    assert plan(1, default=PoolSettings(engine="piper", models=voices)).cpu_plan.warnings == []


def test_people_and_programs_see_it_in_the_plan() -> None:
    made = plan(2, default=tone(wide=True))
    assert "worker 2: pool default, wide, up to 2 threads on CPU 0-1" in draw_plan(machine(2), made.cpu_plan)
    value = json.loads(plan_as_json(machine(2), made.cpu_plan))
    assert value["wide"] == [{"pool": "default", "cpus": [0, 1], "n_threads": 2}]
    assert len(value["workers"]) == 2
    assert made.specs[2].parent_pid == os.getpid()
