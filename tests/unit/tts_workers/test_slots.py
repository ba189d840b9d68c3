"""The slot table: states, order, and what happens when the credits were not kept."""

from __future__ import annotations

import pytest

from support.pools import job
from tts_workers.engines.base import Sequence
from tts_workers.slots import Slot, SlotState, SlotTable


def run(slot: Slot) -> Slot:
    """Put a slot that has been added into RUNNING, as its core does after the preparation."""
    assert slot.job is not None
    slot.sequence, slot.state = Sequence(slot.job), SlotState.RUNNING
    return slot


def test_a_new_table_is_free_and_has_nothing_to_do() -> None:
    table = SlotTable(3)
    assert [slot.state for slot in table.slots] == [SlotState.FREE] * 3
    assert table.n_active == 0
    assert table.to_prepare() is None
    assert table.to_step(all_of_them=True) == []


def test_a_job_goes_through_the_states_and_leaves_nothing_in_the_slot() -> None:
    table = SlotTable(1)
    slot = table.add(job())
    assert slot.state is SlotState.PREPARING
    assert (table.to_prepare(), table.to_step(all_of_them=True)) == (slot, [])
    run(slot)
    slot.n_made, slot.compute_s = 480, 0.5
    assert (table.to_prepare(), table.to_step(all_of_them=True)) == (None, [slot])
    table.free(slot)
    assert (slot.state, slot.job, slot.sequence, table.n_active) == (SlotState.FREE, None, None, 0)
    again = table.add(job(request_id="next"))
    assert (again.n_made, again.compute_s, again.sequence) == (0, 0.0, None)


def test_a_job_without_a_free_slot_is_an_error_and_disturbs_nobody() -> None:
    table = SlotTable(1)
    slot = table.add(job(request_id="first"))
    with pytest.raises(LookupError, match="second"):
        table.add(job(request_id="second"))
    assert slot.job == job(request_id="first")


def test_a_freed_slot_is_used_again() -> None:
    table = SlotTable(2)
    first, second = table.add(job(request_id="a")), table.add(job(request_id="b"))
    table.free(first)
    assert table.add(job(request_id="c")) is first
    assert second.job == job(request_id="b")


def test_the_earliest_deadline_is_prepared_and_stepped_first() -> None:
    table = SlotTable(3)
    slots = {name: table.add(job(request_id=name, deadline_s=at)) for name, at in [("b", 2.0), ("c", 3.0), ("a", 1.0)]}
    prepared = []
    while (slot := table.to_prepare()) is not None:
        prepared.append(slot)
        run(slot)
    assert prepared == [slots["a"], slots["b"], slots["c"]]
    assert table.to_step(all_of_them=False) == [slots["a"]]
    assert table.to_step(all_of_them=True) == [slots["a"], slots["b"], slots["c"]]


def test_equal_deadlines_keep_the_order_of_arrival_whatever_the_slot() -> None:
    table = SlotTable(2)
    first = table.add(job(request_id="first"))
    second = run(table.add(job(request_id="second")))
    table.free(first)
    third = run(table.add(job(request_id="third")))
    assert third is first
    assert table.to_step(all_of_them=True) == [second, third]


def test_a_slot_is_found_by_the_exact_attempt_only() -> None:
    table = SlotTable(2)
    slot = table.add(job(segment=1, attempt=2))
    assert table.find(job(segment=1, attempt=2).key) is slot
    assert table.find(job(segment=1, attempt=1).key) is None
    assert table.find(job(segment=0, attempt=2).key) is None
    table.free(slot)
    assert table.find(job(segment=1, attempt=2).key) is None
