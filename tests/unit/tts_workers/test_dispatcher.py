"""The dispatcher: who gets which job, what is refused, and how a job is cancelled."""

from __future__ import annotations

import pytest

from support.dispatching import DispatcherWorld, key
from tts_service.errors import Code
from tts_service.protocol import (
    Cancelled,
    Chunk,
    Done,
)


@pytest.fixture
def world() -> DispatcherWorld:
    """Two warm workers of two slots each, and one gateway."""
    world = DispatcherWorld(2, 2)
    world.hello()
    return world


# Jobs


def test_a_job_is_assigned_at_once_and_its_audio_and_end_reach_its_gateway(world: DispatcherWorld) -> None:
    world.now = 100.0
    submitted = world.submit("a")
    (index,) = [index for index in (0, 1) if world.assigned(index)]
    chunk = Chunk(submitted.key, "g1", 0, 4)
    world.from_worker(index, chunk, b"x" * 16)
    world.finish(index, submitted.key)
    audio = [(to, message, samples) for to, message, samples in world.sent if isinstance(message, Chunk)]
    assert audio == [(b"g1", chunk, b"x" * 16)]
    assert world.lasts(submitted.key) == [(b"g1", Done(submitted.key, "g1", 480, 0.25, worker=index, queue_s=0.0))]
    assert world.dispatcher.n_running == 0


def test_the_time_in_the_queue_is_told() -> None:
    world = DispatcherWorld(1)
    world.hello()
    first, second = world.submit("a"), world.submit("b")
    world.now = 103.5
    world.finish(0, first.key)
    world.finish(0, second.key)
    ((_, done),) = world.lasts(second.key)
    assert isinstance(done, Done)
    assert done.queue_s == 3.5


def test_workers_are_filled_evenly_and_never_beyond_their_credits(world: DispatcherWorld) -> None:
    for name in "ab":
        world.submit(name)
    assert [len(world.assigned(index)) for index in (0, 1)] == [1, 1]
    for name in "cdefg":
        world.submit(name)
    assert [len(world.assigned(index)) for index in (0, 1)] == [2, 2]
    assert world.dispatcher.n_running == 4
    first = world.assigned(1)[0]
    world.finish(1, first)
    assert world.assigned()[4:] == [key("e")]
    assert world.assigned(1)[2:] == [key("e")]


def test_a_job_waits_for_the_credit_and_not_for_the_end_of_another() -> None:
    world = DispatcherWorld(1)
    world.hello()
    first = world.submit("a")
    world.submit("b")
    world.from_worker(0, Done(first.key, "g1", 480, 0.25))
    assert world.assigned() == [key("a")]


def test_jobs_wait_for_the_first_warm_worker() -> None:
    world = DispatcherWorld(1, warm=False)
    world.hello()
    world.submit("a")
    assert (world.assigned(), world.lasts(key("a"))) == ([], [])
    world.warm(0)
    assert world.assigned() == [key("a")]


def test_a_job_for_an_unknown_pool_is_refused(world: DispatcherWorld) -> None:
    submitted = world.submit("a", pool="other")
    failure = world.failure(submitted.key)
    assert (failure.code, failure.param) == (Code.MODEL_NOT_FOUND, "model")


def test_jobs_go_to_the_workers_of_their_own_pool() -> None:
    world = DispatcherWorld(1, 1, pools=("one", "two"))
    world.hello()
    world.submit("a", pool="two")
    world.submit("b", pool="two")
    assert (world.assigned(0), world.assigned(1)) == ([], [key("a")])
    world.submit("c", pool="one")
    assert world.assigned(0) == [key("c")]


def test_a_full_queue_refuses_new_requests_only() -> None:
    world = DispatcherWorld(1, queue_limit=2)
    world.hello()
    for name in "abc":
        world.submit(name)
    refused = world.submit("new")
    failure = world.failure(refused.key)
    assert failure.code == Code.QUEUE_FULL
    assert failure.retry_after_s >= 1.0
    assert "2 segments" in failure.message
    admitted = [world.submit("a", segment=1), world.submit("a", attempt=2)]
    assert [world.lasts(one.key) for one in admitted] == [[], []]
    assert len(world.pools["default"].queue) == 4


def test_one_pools_full_queue_is_not_anothers() -> None:
    world = DispatcherWorld(1, 1, pools=("one", "two"), queue_limit=1)
    world.hello()
    for name in "ab":
        world.submit(name, pool="one")
    assert world.failure(world.submit("c", pool="one").key).code == Code.QUEUE_FULL
    assert world.lasts(world.submit("d", pool="two").key) == []


# Cancellation


def test_a_waiting_job_that_is_cancelled_never_runs() -> None:
    world = DispatcherWorld(1)
    world.hello()
    world.submit("a")
    world.submit("b")
    world.cancel(key("b"))
    assert world.lasts(key("b")) == [(b"g1", Cancelled(key("b")))]
    world.finish(0, key("a"))
    assert world.assigned() == [key("a")]


def test_a_running_job_is_cancelled_by_its_worker_which_answers(world: DispatcherWorld) -> None:
    world.submit("a")
    index = 0 if world.assigned(0) else 1
    world.cancel(key("a"))
    assert world.told_to_cancel(index) == [key("a")]
    assert world.lasts(key("a")) == []
    world.end(index, Cancelled(key("a")))
    assert world.lasts(key("a")) == [(b"g1", Cancelled(key("a")))]


def test_a_job_that_ends_while_its_cancel_is_under_way_ends_once(world: DispatcherWorld) -> None:
    world.submit("a")
    index = 0 if world.assigned(0) else 1
    world.cancel(key("a"))
    world.finish(index, key("a"))
    assert [type(last) for _, last in world.lasts(key("a"))] == [Done]


def test_an_unknown_job_is_cancelled_without_a_word(world: DispatcherWorld) -> None:
    sent = len(world.sent)
    world.cancel(key("never seen"))
    assert (world.sent[sent:], world.told_to_cancel(0), world.told_to_cancel(1)) == ([], [], [])


def test_a_gateway_cannot_cancel_anothers_jobs() -> None:
    world = DispatcherWorld(1)
    world.hello(b"g1")
    world.hello(b"g2")
    world.submit("running", b"g1")
    world.submit("waiting", b"g1")
    for name in ("running", "waiting"):
        world.cancel(key(name), b"g2")
    assert world.told_to_cancel(0) == []
    world.finish(0, key("running"))
    world.finish(0, key("waiting"))
    assert [to for name in ("running", "waiting") for to, _ in world.lasts(key(name))] == [b"g1", b"g1"]
