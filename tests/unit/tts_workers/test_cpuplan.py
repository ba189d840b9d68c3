"""The CPU plan keeps its rules on machines of every kind."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import fake_machines, plan_table
from support.fake_machines import FakeMachine, machine_of
from tts_service.errors import CannotStart
from tts_workers.cpuplan import AUTO, CpuPlan, PoolDemand, make_cpu_plan, wide_worker
from tts_workers.machine import Cpu, Machine
from tts_workers.plan_drawing import draw_plan, plan_as_json


def plan_for(fake: FakeMachine, *demands: PoolDemand, reserve: int = AUTO) -> tuple[Machine, CpuPlan]:
    """Return a fake machine as it is read, and the plan for it."""
    machine = machine_of(fake)
    return machine, make_cpu_plan(machine, list(demands) or [PoolDemand("p", 0, 1)], reserve)


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("fake", fake_machines.ALL, ids=lambda fake: fake.name)
def test_no_cpu_or_core_is_given_twice_and_all_budgets_are_equal(fake: FakeMachine, n_threads: int) -> None:
    machine = machine_of(fake)
    if n_threads > len(machine.cores) or (machine.quota is not None and n_threads > max(1, machine.quota)):
        with pytest.raises(CannotStart):
            make_cpu_plan(machine, [PoolDemand("p", 1, 64 * n_threads)])
        return
    plan = make_cpu_plan(machine, [PoolDemand("p", 0, n_threads)])
    pinned = [cpu for worker in plan.workers for cpu in worker.cpus]
    core_of = {cpu.id: cpu.core for cpu in machine.cpus}
    assert len(set(pinned)) == len(pinned)
    assert len({core_of[cpu] for cpu in pinned}) == len(pinned)
    assert set(pinned) <= machine.allowed
    assert {len(worker.cpus) for worker in plan.workers} == {n_threads}
    assert not set(pinned) & (set(plan.reserved) | set(plan.unused))
    assert set(pinned) | set(plan.reserved) | set(plan.unused) == machine.allowed


@pytest.mark.parametrize("fake", [fake_machines.ONE_SOCKET, fake_machines.TWO_SOCKETS], ids=lambda fake: fake.name)
def test_a_worker_stays_within_one_cache(fake: FakeMachine) -> None:
    machine, plan = plan_for(fake, PoolDemand("p", 0, 8))
    l3_of = {cpu.id: cpu.l3 for cpu in machine.cpus}
    assert all(len({l3_of[cpu] for cpu in worker.cpus}) == 1 for worker in plan.workers)
    assert plan.warnings == []


def test_a_worker_too_large_for_a_cache_is_warned_about() -> None:
    _, plan = plan_for(fake_machines.ONE_SOCKET, PoolDemand("p", 1, 16))
    assert any("spans several caches" in warning for warning in plan.warnings)


def test_fast_cores_come_first_and_no_worker_mixes_kinds() -> None:
    machine, plan = plan_for(fake_machines.HYBRID_SMT, PoolDemand("p", 0, 2))
    capacity = {cpu.id: cpu.capacity for cpu in machine.cpus}
    kinds = [{capacity[cpu] for cpu in worker.cpus} for worker in plan.workers]
    assert all(len(kind) == 1 for kind in kinds)
    assert kinds[:3] == [{1.0}] * 3


def test_smt_siblings_are_used_only_when_asked_for() -> None:
    _, plan = plan_for(fake_machines.FOUR_CORES_SMT)
    assert [worker.cpus for worker in plan.workers] == [[0], [1], [2], [3]]
    _, plan = plan_for(fake_machines.FOUR_CORES_SMT, PoolDemand("p", 6, 1))
    assert [worker.cpus for worker in plan.workers] == [[0], [1], [2], [3], [4], [5]]
    assert any("SMT" in warning for warning in plan.warnings)


@pytest.mark.parametrize(
    ("fake", "demand", "words"),
    [
        (fake_machines.TWO_CORES, PoolDemand("books", 3, 1), ("books", "3", "2 (0-1)")),
        (fake_machines.ONE_CPU, PoolDemand("books", 1, 2), ("need 2 CPUs",)),
        (fake_machines.SMALL_QUOTA, PoolDemand("books", 2, 1), ("quota is 1.5",)),
        (fake_machines.ONE_CPU_CPUSET, PoolDemand("books", 2, 1), ("1 (5)",)),
    ],
)
def test_more_than_there_is_is_refused_with_the_reason(
    fake: FakeMachine, demand: PoolDemand, words: tuple[str, ...]
) -> None:
    with pytest.raises(CannotStart) as caught:
        plan_for(fake, demand)
    assert all(word in str(caught.value) for word in words), caught.value


@pytest.mark.parametrize("fake", [fake_machines.ONE_CPU, fake_machines.ONE_CPU_CPUSET, fake_machines.TINY_QUOTA])
def test_the_smallest_machines_get_one_worker(fake: FakeMachine) -> None:
    _, plan = plan_for(fake)
    assert len(plan.workers) == 1


def test_a_quota_below_one_cpu_is_warned_about() -> None:
    _, plan = plan_for(fake_machines.TINY_QUOTA)
    assert any("0.5" in warning for warning in plan.warnings)


def test_large_machines_keep_cores_for_the_gateway_and_small_ones_none() -> None:
    assert plan_for(fake_machines.TWO_CORES)[1].reserved == []
    assert len(plan_for(fake_machines.ONE_SOCKET)[1].reserved) == 8
    assert len(plan_for(fake_machines.TWO_CORES, reserve=1)[1].workers) == 1


def test_pools_share_by_weight_and_each_gets_a_worker() -> None:
    demands = [PoolDemand("calls", 0, 1, weight=3), PoolDemand("books", 0, 1, weight=1), PoolDemand("rare", 0, 1, 0.01)]
    _, plan = plan_for(FakeMachine("13 cores", cores=13), *demands, reserve=0)
    counts = {demand.name: sum(worker.pool == demand.name for worker in plan.workers) for demand in demands}
    assert counts == {"calls": 9, "books": 3, "rare": 1}


def test_a_fixed_pool_leaves_the_rest_to_the_open_one() -> None:
    _, plan = plan_for(FakeMachine("6 cores", cores=6), PoolDemand("a", 2, 2), PoolDemand("b", 0, 1))
    assert [worker.pool for worker in plan.workers] == ["a", "a", "b", "b"]


def test_the_wide_worker_has_all_cpus_of_its_pool() -> None:
    _, plan = plan_for(fake_machines.FOUR_CORES_SMT)
    wide = wide_worker(plan, "p")
    assert wide.cpus == [0, 1, 2, 3]
    assert wide.n_threads == 4


def test_no_allowed_cpu_is_refused() -> None:
    with pytest.raises(CannotStart):
        make_cpu_plan(Machine((Cpu(0, 0, 0, 0, 0, 1.0),), frozenset()), [PoolDemand("p", 0, 1)])


@given(
    cores=st.integers(1, 24),
    smt=st.integers(1, 2),
    l3=st.sampled_from([1, 2, 4, 8]),
    quota=st.none() | st.floats(0.1, 30),
    demands=st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4), st.floats(0.1, 9)), min_size=1, max_size=3),
)
def test_any_plan_is_disjoint_or_refused(
    cores: int, smt: int, l3: int, quota: float | None, demands: list[tuple[int, int, float]]
) -> None:
    cpus = tuple(
        Cpu(core + level * cores, core, core // l3 * l3, 0, 0, 1.0) for level in range(smt) for core in range(cores)
    )
    machine = Machine(cpus, frozenset(cpu.id for cpu in cpus), quota)
    asked = [PoolDemand(f"p{n}", *demand) for n, demand in enumerate(demands)]
    try:
        plan = make_cpu_plan(machine, asked)
    except CannotStart:
        return
    pinned = [cpu for worker in plan.workers for cpu in worker.cpus]
    assert len(set(pinned)) == len(pinned)
    for demand in asked:
        own = [worker for worker in plan.workers if worker.pool == demand.name]
        assert len(own) == demand.n_workers or (demand.n_workers == 0 and own)
        assert all(len(worker.cpus) == demand.n_threads for worker in own)


@pytest.mark.parametrize("fake", fake_machines.ALL, ids=lambda fake: fake.name)
def test_the_drawing_shows_every_cpu_and_the_json_is_whole(fake: FakeMachine) -> None:
    machine, plan = plan_for(fake)
    drawing = draw_plan(machine, plan)
    assert all(f"{cpu.id}:" in drawing for cpu in machine.cpus)
    assert all(len(line) <= 120 for line in drawing.splitlines() if not line.startswith(("machine", "warning")))
    value = json.loads(plan_as_json(machine, plan))
    assert len(value["workers"]) == len(plan.workers)


def test_the_documented_table_is_what_the_planner_does() -> None:
    assert plan_table.PAGE.read_text(encoding="utf-8") == plan_table.page()
