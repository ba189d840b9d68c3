"""Who speaks lone sentences, on how many threads, and what happens when other work comes meanwhile."""

from __future__ import annotations

import pytest

from support.dispatching import DispatcherWorld, key
from support.pools import job
from tts_service.protocol import Done, Job
from tts_workers.link import Running, WorkerLink
from tts_workers.widening import assignable, width

WIDE = 2
"""Index of the wide worker in a pool of two others."""


@pytest.fixture
def world() -> DispatcherWorld:
    """Two workers with two slots each, and a wide one."""
    made = DispatcherWorld(2, 2, wide=True)
    made.hello()
    return made


def speaks_wide(world: DispatcherWorld, name: str = "lone") -> Job:
    """Submit a lone job to the idle pool."""
    made = world.submit(name, lone=True)
    assert world.assigned(WIDE)[-1:] == [made.key]
    return made


def test_a_lone_job_of_an_idle_pool_gets_all_its_cpus(world: DispatcherWorld) -> None:
    speaks_wide(world)
    assert world.widths(WIDE) == [2]


def test_a_job_among_others_of_its_request_goes_to_an_ordinary_worker(world: DispatcherWorld) -> None:
    world.submit("book", lone=False)
    assert world.assigned(WIDE) == []
    assert len(world.assigned()) == 1


def test_a_lone_job_goes_to_an_ordinary_worker_while_one_is_busy(world: DispatcherWorld) -> None:
    world.submit("book", lone=False)
    world.submit("lone", lone=True)
    assert world.assigned(WIDE) == []
    assert len(world.assigned(0)) == len(world.assigned(1)) == 1


def test_the_wide_worker_narrows_when_other_work_comes_and_widens_when_that_is_done(world: DispatcherWorld) -> None:
    speaks_wide(world)
    other = world.submit("other", lone=True)
    (busy,) = [index for index in (0, 1) if world.assigned(index) == [other.key]]
    assert world.widths(WIDE) == [2, 1]
    world.finish(busy, other.key)
    assert world.widths(WIDE) == [2, 1, 2]


def test_one_worker_stands_aside_while_the_wide_one_has_a_job(world: DispatcherWorld) -> None:
    lone = speaks_wide(world)
    others = [world.submit(name).key for name in "abc"]
    busy = [index for index in (0, 1) if world.assigned(index)]
    assert len(busy) == 1
    assert world.assigned(busy[0]) == others[:1]
    world.finish(WIDE, lone.key)
    assert world.assigned(1 - busy[0]) == others[1:2]
    assert set(world.assigned()) == {lone.key, *others}
    assert world.assigned(WIDE) == [lone.key]


def test_a_job_that_goes_before_the_present_ones_does_not_wait_for_the_wide_worker(world: DispatcherWorld) -> None:
    speaks_wide(world)
    world.submit("later", deadline_s=150.0)
    urgent = world.submit("urgent", deadline_s=101.0)
    (busy,) = [index for index in (0, 1) if world.assigned(index)]
    assert world.assigned(busy)[1:] == [urgent.key]


def test_a_wide_worker_that_was_narrow_is_wide_again_for_its_next_job(world: DispatcherWorld) -> None:
    lone = speaks_wide(world)
    other = world.submit("other")
    (busy,) = [index for index in (0, 1) if world.assigned(index)]
    world.finish(WIDE, lone.key)
    world.finish(busy, other.key)
    speaks_wide(world, "next")
    assert world.widths(WIDE) == [2, 1, 2]


def test_a_new_life_of_the_wide_worker_is_told_its_width_anew(world: DispatcherWorld) -> None:
    speaks_wide(world)
    world.dispatcher.worker_gone(WIDE, "signal SIGKILL")
    world.warm(WIDE)
    speaks_wide(world, "next")
    assert world.widths(WIDE) == [2, 2]


def test_a_lone_job_goes_to_an_ordinary_worker_while_the_wide_one_is_dead(world: DispatcherWorld) -> None:
    lone = speaks_wide(world)
    world.dispatcher.worker_gone(WIDE, "signal SIGKILL")
    assert world.failure(lone.key).alone
    again = world.submit("lone", attempt=2, alone=True, lone=True)
    assert world.assigned(0) + world.assigned(1) == [again.key]


def test_a_lone_job_whose_worker_died_goes_on_on_the_wide_one(world: DispatcherWorld) -> None:
    lone = speaks_wide(world)
    world.submit("other", lone=True)
    (busy,) = [index for index in (0, 1) if world.assigned(index)]
    world.finish(WIDE, lone.key)
    world.dispatcher.worker_gone(busy, "signal SIGKILL")
    again = world.submit("other", attempt=2, alone=True, lone=True)
    assert world.assigned(WIDE) == [lone.key, again.key]


def test_the_service_is_warm_without_its_wide_worker() -> None:
    world = DispatcherWorld(1, 1, wide=True, warm=False)
    for index in (0, 1):
        world.warm(index)
    catalogue = world.dispatcher.catalogue()
    assert catalogue.warm
    (pool,) = catalogue.pools
    assert (pool.n_workers, pool.n_ready, pool.n_slots) == (2, 2, 2)


def test_what_a_wide_worker_needs_is_not_taken_for_what_others_need(world: DispatcherWorld) -> None:
    pool = world.pools["default"]
    before = pool.estimate.work_s_per_char
    lone = speaks_wide(world)
    world.end(WIDE, Done(lone.key, "g1", 48000, 100.0))
    assert pool.estimate.work_s_per_char == pytest.approx(before)
    other = world.submit("other")
    (busy,) = [index for index in (0, 1) if world.assigned(index)]
    world.end(busy, Done(other.key, "g1", 48000, 100.0))
    assert pool.estimate.work_s_per_char > 2 * before


def test_jobs_of_a_gateway_that_is_gone_are_cancelled_in_the_wide_worker(world: DispatcherWorld) -> None:
    lone = speaks_wide(world)
    world.cancel(lone.key)
    assert world.told_to_cancel(WIDE) == [lone.key]
    world.dispatcher.gateway_gone(b"g1", "silent")
    assert world.told_to_cancel(WIDE) == [lone.key, lone.key]


@pytest.mark.parametrize(("n_busy", "threads", "n_assignable"), [(0, 8, 4), (1, 6, 4), (2, 4, 4), (3, 2, 0)])
def test_what_the_busy_workers_leave_is_the_wide_ones(n_busy: int, threads: int, n_assignable: int) -> None:
    workers = [WorkerLink(index, "p", 3, n_threads=2) for index in range(4)]
    wide = WorkerLink(4, "p", 1, n_threads=8)
    for worker in [*workers[:n_busy], wide]:
        worker.jobs[key(str(worker.index))] = Running(job(deadline_s=5.0), b"g1", 0.0)
    assert width(workers, wide) == threads
    assert len(assignable(workers, wide, 5.0)) == n_assignable
