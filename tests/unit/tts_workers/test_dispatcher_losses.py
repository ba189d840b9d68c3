"""The dispatcher: workers that die or retire, and the end of the whole."""

from __future__ import annotations

import pytest

from support.dispatching import DispatcherWorld, key
from tts_service.errors import Code
from tts_service.protocol import (
    Catalogue,
    Chunk,
    Done,
    Failed,
    Phase,
    PhaseChange,
    Report,
    Stop,
    WorkerHello,
    WorkerStats,
)


@pytest.fixture
def world() -> DispatcherWorld:
    """Two warm workers of two slots each, and one gateway."""
    world = DispatcherWorld(2, 2)
    world.hello()
    return world


# Workers die


def test_a_dead_workers_jobs_are_answered_and_no_others(world: DispatcherWorld) -> None:
    for name in "abcde":
        world.submit(name)
    lost, kept = world.assigned(0), world.assigned(1)
    world.dispatcher.worker_gone(0, "signal SIGSEGV")
    for one in lost:
        failure = world.failure(one)
        assert failure.code == Code.WORKER_DIED
        assert "SIGSEGV" in failure.message
    assert [world.lasts(one) for one in [*kept, key("e")]] == [[], [], []]
    # Its slots died with it: the fifth job waits for the other worker, or for the next life.
    assert key("e") not in world.assigned()
    world.warm(0)
    assert world.assigned(0)[2:] == [key("e")]


def test_nothing_of_a_job_that_has_ended_is_passed_on(world: DispatcherWorld) -> None:
    submitted = world.submit("a")
    index = 0 if world.assigned(0) else 1
    world.finish(index, submitted.key)
    sent = len(world.sent)
    world.from_worker(index, Chunk(submitted.key, "g1", 480, 4), b"0" * 16)
    world.from_worker(index, Done(submitted.key, "g1", 484, 0.5))
    world.from_worker(index, Failed(submitted.key, "engine_failed", "late"))
    assert world.sent[sent:] == []


def test_audio_of_a_job_from_a_worker_that_does_not_have_it_is_dropped(world: DispatcherWorld) -> None:
    submitted = world.submit("a")
    other = 1 if world.assigned(0) else 0
    sent = len(world.sent)
    world.from_worker(other, Chunk(submitted.key, "g1", 0, 4), b"0" * 16)
    world.from_worker(other, Done(submitted.key, "g1", 4, 0.5))
    assert world.sent[sent:] == []


def test_messages_about_the_process_are_no_business_of_gateways(world: DispatcherWorld) -> None:
    sent = len(world.sent)
    stats = WorkerStats(segments_done=7)
    for message in (WorkerHello(1, "0", 0, 1, 1), PhaseChange(Phase.STEP), Report(stats)):
        world.from_worker(0, message)
    assert world.sent[sent:] == []
    assert world.dispatcher.workers[0].stats == stats


def test_a_retired_worker_finishes_what_it_has_and_is_then_stopped(world: DispatcherWorld) -> None:
    for name in "abcde":
        world.submit(name)
    mine = world.assigned(0)
    world.dispatcher.retire(0)
    assert (0, Stop()) not in world.orders
    for one in mine:
        world.finish(0, one)
    assert world.orders.count((0, Stop())) == 1
    assert world.assigned(0) == mine
    world.finish(1, world.assigned(1)[0])
    assert key("e") in world.assigned(1)


def test_an_idle_worker_that_is_retired_is_stopped_at_once(world: DispatcherWorld) -> None:
    world.dispatcher.retire(1)
    assert world.orders == [(1, Stop())]


# The end


def test_draining_hands_waiting_jobs_back_and_lets_running_ones_finish(world: DispatcherWorld) -> None:
    for name in "abcdef":
        world.submit(name)
    running = world.assigned()
    world.dispatcher.drain()
    assert [world.failure(key(name)).code for name in "ef"] == [Code.DRAINING] * 2
    assert world.failure(world.submit("late").key).code == Code.DRAINING
    assert world.received(b"g1", Catalogue)[-1].draining
    assert world.dispatcher.n_running == 4
    for index in (0, 1):
        for one in world.assigned(index):
            world.finish(index, one)
    assert world.dispatcher.n_running == 0
    assert world.assigned() == running
    assert [type(last) for one in running for _, last in world.lasts(one)] == [Done] * 4


def test_draining_survives_a_gateway_that_vanishes_while_it_is_told() -> None:
    world = DispatcherWorld(1)
    world.hello(b"g1")
    world.hello(b"g2")
    for n in range(3):
        world.submit(f"a{n}", b"g1")
        world.submit(f"b{n}", b"g2")
    world.unreachable.add(b"g1")
    world.dispatcher.drain()
    assert [world.failure(key(f"b{n}")).code for n in range(3)] == [Code.DRAINING] * 3
    assert set(world.dispatcher.gateways) == {b"g2"}
