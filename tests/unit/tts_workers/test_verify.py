"""A worker is held to its plan."""

from __future__ import annotations

import msgspec
import pytest

from tts_service.protocol import EngineInfo, Pace, Ready, Runtime
from tts_workers.spec import WorkerSpec
from tts_workers.verify import plan_faults

SPEC = WorkerSpec(
    index=0,
    incarnation=1,
    parent_pid=1,
    endpoint="",
    pool="default",
    engine="tone",
    models="",
    options={},
    cpus=[2, 3],
    n_threads=2,
    n_slots=2,
    heartbeat_s=1.0,
    log_level="info",
)
ENGINE = EngineInfo("tone", "", 24000, [], "", 100, [], "turns", 0.1, True, 0.25, 4.0)
READY = Ready(ENGINE, "g", [2, 3], 2, Runtime(intra_op_threads=2, spinning=False), Pace(10, 0.02, 0.6))
AS_PLANNED = {10: frozenset({2, 3}), 11: frozenset({2, 3})}


def test_a_process_as_planned_has_no_faults() -> None:
    assert plan_faults(SPEC, READY, AS_PLANNED, 2) == []


@pytest.mark.parametrize("cpus", [{0, 1, 2, 3}, {2}, {5}])
def test_one_thread_with_other_cpus_is_a_fault_that_names_both(cpus: set[int]) -> None:
    (fault,) = plan_faults(SPEC, READY, AS_PLANNED | {11: frozenset(cpus)}, 2)
    assert "planned 2-3" in fault


def test_other_threads_and_spinning_are_faults() -> None:
    ready = msgspec.structs.replace(READY, runtime=Runtime(intra_op_threads=8, spinning=True))
    assert len(plan_faults(SPEC, ready, AS_PLANNED, 2)) == 2


def test_a_process_that_has_said_nothing_is_judged_by_the_kernel_alone() -> None:
    assert plan_faults(SPEC, None, {}, 2) == []


def test_a_thread_more_than_when_it_became_ready_is_a_fault() -> None:
    (fault,) = plan_faults(SPEC, READY, AS_PLANNED | {12: frozenset({2, 3})}, 2)
    assert "3 threads, 2 when" in fault
