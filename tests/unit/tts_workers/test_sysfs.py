"""The machine is read right from the kernel's files, of every kind of machine and container."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support import fake_machines
from support.fake_machines import FakeMachine, machine_of
from tts_workers.cgroups import read_limits
from tts_workers.machine import cpu_ranges, read_cpu_list
from tts_workers.sysfs import read_machine


@pytest.mark.parametrize("fake", fake_machines.ALL, ids=lambda fake: fake.name)
def test_every_online_cpu_is_seen_once(fake: FakeMachine) -> None:
    machine = machine_of(fake)
    assert [cpu.id for cpu in machine.cpus] == fake.online
    assert machine.offline == fake.offline
    assert machine.allowed <= set(fake.online)


def test_smt_siblings_are_one_core_and_caches_are_domains() -> None:
    machine = machine_of(fake_machines.TWO_SOCKETS)
    assert len(machine.cores) == 128
    assert len({cpu.l3 for cpu in machine.cpus}) == 16
    assert len({cpu.node for cpu in machine.cpus}) == 2
    assert machine.cores[5].cpus == (5, 133)


def test_intel_hybrids_have_faster_cores_first() -> None:
    cores = machine_of(fake_machines.HYBRID_SMT).cores
    assert [core.capacity for core in cores] == [1.0] * 6 + [0.6] * 8
    assert [len(core.cpus) for core in cores] == [2] * 6 + [1] * 8


def test_arm_capacities_are_relative_to_the_fastest() -> None:
    cores = machine_of(fake_machines.BIG_LITTLE).cores
    assert cores[0].cpus == (7,)
    assert cores[0].capacity == 1.0
    assert [core.cpus[0] for core in cores] == [7, 4, 5, 6, 0, 1, 2, 3]


def test_an_offline_sibling_does_not_hide_its_core() -> None:
    fake = FakeMachine("sibling offline", cores=2, smt=2, offline=(0,))
    machine = machine_of(fake)
    assert [core.cpus for core in machine.cores] == [(1, 3), (2,)]


@pytest.mark.parametrize(
    ("fake", "quota", "allowed"),
    [
        (fake_machines.SMALL_QUOTA, 1.5, {0, 1, 2, 3}),
        (fake_machines.LARGE_QUOTA, 7.65, set(range(16))),
        (fake_machines.TINY_QUOTA, 0.5, {0, 1, 2, 3}),
        (fake_machines.V1_QUOTA, 3.0, {2, 3, 4, 5, 6, 7}),
        (fake_machines.CONTAINER, 2.5, {8, 9, 10, 11}),
        (fake_machines.ODD_CPUSET, None, {1, 4, 7}),
        (fake_machines.ONE_CPU_CPUSET, None, {5}),
        (fake_machines.TWO_CORES, None, {0, 1}),
    ],
    ids=lambda value: value.name if isinstance(value, FakeMachine) else "",
)
def test_control_groups_limit_what_is_allowed(fake: FakeMachine, quota: float | None, allowed: set[int]) -> None:
    machine = machine_of(fake)
    assert machine.quota == quota
    assert machine.allowed == allowed


def test_a_machine_that_shows_nothing_is_taken_for_the_plainest(tmp_path: Path) -> None:
    machine = read_machine({0, 3}, tmp_path)
    assert [cpu.id for cpu in machine.cpus] == [0, 3]
    assert len(machine.cores) == 2
    assert machine.quota is None


def test_damaged_control_group_files_limit_nothing(tmp_path: Path) -> None:
    fake = FakeMachine("damaged", cores=2, cgroup={"cpu.max": "", "cpuset.cpus.effective": ""})
    limits = read_limits(fake.write(tmp_path))
    assert limits.quota is None
    assert limits.cpus is None


def test_this_machine_can_be_read() -> None:
    machine = read_machine(set(os.sched_getaffinity(0)))
    assert machine.allowed <= os.sched_getaffinity(0)
    assert machine.cores


@pytest.mark.parametrize(("text", "cpus"), [("0-3,8", [0, 1, 2, 3, 8]), ("5", [5]), ("", []), (" 1, 3-4\n", [1, 3, 4])])
def test_cpu_lists_are_read(text: str, cpus: list[int]) -> None:
    assert read_cpu_list(text) == cpus


@pytest.mark.parametrize("text", ["a", "3-1", "-2", "1-", "0--3", "1.5"])
def test_a_cpu_list_that_is_none_is_an_error(text: str) -> None:
    with pytest.raises(ValueError):
        read_cpu_list(text)


def test_ranges_and_lists_are_each_others_inverse() -> None:
    for cpus in ([0], [0, 1, 2], [1, 3, 5], [0, 1, 2, 8, 9, 64]):
        assert read_cpu_list(cpu_ranges(cpus)) == cpus
