"""From settings to the workers of all pools."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tts_service.errors import CannotStart, SettingsError
from tts_service.runtime_dir import RuntimeDir
from tts_service.settings import PoolSettings, ServiceSettings, Settings, WorkerSettings
from tts_workers.machine import Cpu, Machine
from tts_workers.plan import Plan, make_plan, restrict

RUNTIME_DIR = RuntimeDir(Path("/run/x"))


def machine(n_cpus: int) -> Machine:
    """Return a plain machine."""
    return Machine(tuple(Cpu(n, n, 0, 0, 0, 1.0) for n in range(n_cpus)), frozenset(range(n_cpus)))


def plan(n_cpus: int, workers: WorkerSettings = WorkerSettings(), **pools: PoolSettings) -> Plan:  # noqa: B008
    service = ServiceSettings(log_level="warning")
    return make_plan(Settings(service=service, workers=workers, pools=pools), RUNTIME_DIR, machine(n_cpus))


def test_every_worker_is_told_who_it_is_and_what_it_loads() -> None:
    options: dict[str, bool | int | float | str] = {"stepping": "batched"}
    tone = PoolSettings(engine="tone", workers=2, threads=2, slots=5, options=options)
    made = plan(4, WorkerSettings(heartbeat_s=0.5), main=tone)
    assert [(spec.index, spec.pool, spec.engine, spec.n_threads, spec.n_slots) for spec in made.specs] == [
        (0, "main", "tone", 2, 5),
        (1, "main", "tone", 2, 5),
    ]
    first, second = made.specs
    assert sorted(first.cpus + second.cpus) == [0, 1, 2, 3]
    assert (first.options, first.heartbeat_s, first.log_level) == (options, 0.5, "warning")
    assert (first.endpoint, first.parent_pid) == (RUNTIME_DIR.worker_endpoint, os.getpid())


def test_the_pools_know_the_same_workers() -> None:
    made = plan(4, one=PoolSettings(engine="tone", workers=1), two=PoolSettings(engine="tone", workers=2, slots=7))
    links = {name: [(link.index, link.n_slots) for link in pool.workers] for name, pool in made.pools.items()}
    assert links == {"one": [(0, 3)], "two": [(1, 7), (2, 7)]}
    assert [spec.pool for spec in made.specs] == ["one", "two", "two"]


def test_an_open_number_of_workers_fills_the_machine_with_what_the_engine_prefers() -> None:
    made = plan(3, default=PoolSettings(engine="tone"))
    assert [(spec.cpus, spec.n_threads) for spec in made.specs] == [([0], 1), ([1], 1), ([2], 1)]


@pytest.mark.parametrize(("setting", "seed"), [(0, 0), (7, 7), ("random", -1)])
def test_a_pools_defaults_reach_its_catalogue(setting: int | str, seed: int) -> None:
    made = plan(1, default=PoolSettings(engine="tone", default_seed=setting, default_voice="hz500", queue_limit=3))  # type: ignore[arg-type]
    pool = made.pools["default"]
    assert (pool.default_seed, pool.default_voice, pool.queue.limit) == (seed, "hz500", 3)


def test_a_models_folder_that_is_not_there_is_a_wrong_setting(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"pools\.mine\.models = .*expected a directory"):
        plan(1, mine=PoolSettings(engine="tone", models=str(tmp_path / "missing")))
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match="expected a directory"):
        plan(1, mine=PoolSettings(engine="tone", models=str(tmp_path / "file")))


def test_an_engines_wrong_option_is_named_before_anything_is_started() -> None:
    with pytest.raises(SettingsError, match="stepping = 'sideways': expected one of"):
        plan(1, default=PoolSettings(engine="tone", options={"stepping": "sideways"}))
    with pytest.raises(SettingsError, match="has no option 'colour'"):
        plan(1, default=PoolSettings(engine="hibari", options={"colour": 1}))


def test_hibari_takes_no_models_folder(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="hibari takes no models directory"):
        plan(1, default=PoolSettings(engine="hibari", models=str(tmp_path)))


def test_only_the_named_cpus_are_used() -> None:
    made = plan(8, WorkerSettings(cpus="2-3, 6"), default=PoolSettings(engine="tone"))
    assert [spec.cpus for spec in made.specs] == [[2], [3], [6]]
    assert restrict(machine(4), " ") == machine(4)


def test_named_cpus_that_are_not_there_are_left_out_and_none_at_all_is_refused() -> None:
    assert restrict(machine(4), "3-9").allowed == {3}
    with pytest.raises(CannotStart, match=r"workers\.cpus = '8-9'.*0-3"):
        restrict(machine(4), "8-9")


@pytest.mark.parametrize("text", ["3-1", "a", "1-", "-1", "1,,b", "1--2", "0-99999999999"])
def test_an_unreadable_cpu_list_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=r"workers\.cpus"):
        restrict(machine(4), text)


def test_more_workers_than_cpus_are_refused() -> None:
    with pytest.raises(CannotStart, match="need 3 CPUs"):
        plan(2, default=PoolSettings(engine="tone", workers=3))
