"""The dispatcher: who is let in, who gets which job, and who is told what when something dies."""

from __future__ import annotations

import pytest

from support.dispatching import DispatcherWorld
from support.pools import job
from tts_service import __version__
from tts_service.errors import Code
from tts_service.protocol import (
    PROTOCOL_VERSION,
    Alive,
    Beat,
    Bye,
    Cancelled,
    Catalogue,
    Chunk,
    Done,
    Failed,
    Introduce,
    JobKey,
    Phase,
    PhaseChange,
    Refused,
    Report,
    Stop,
    Welcome,
    WorkerHello,
    WorkerStats,
)


def key(name: str) -> JobKey:
    return job(request_id=name).key


def one_failure(world: DispatcherWorld, of: JobKey) -> Failed:
    """Return the failure that a job has ended in."""
    ((_, last),) = world.lasts(of)
    assert isinstance(last, Failed)
    return last


@pytest.fixture
def world() -> DispatcherWorld:
    """Two warm workers of two slots each, and one gateway."""
    world = DispatcherWorld(2, 2)
    world.hello()
    return world


# Gateways come and go


def test_a_gateway_of_the_same_version_is_welcomed_and_told_what_there_is() -> None:
    world = DispatcherWorld(2, 2)
    world.hello(b"g1")
    assert [message for _, message, _ in world.sent] == [Welcome("life-1"), world.dispatcher.catalogue()]
    (catalogue,) = world.received(b"g1", Catalogue)
    assert (catalogue.warm, catalogue.draining) == (True, False)
    assert [(pool.name, pool.n_ready, pool.n_slots) for pool in catalogue.pools] == [("default", 2, 4)]


@pytest.mark.parametrize("changes", [{"protocol": PROTOCOL_VERSION + 1}, {"package": "0.0.1"}])
def test_a_gateway_of_another_version_is_refused_and_stays_a_stranger(changes: dict[str, object]) -> None:
    world = DispatcherWorld(1)
    world.hello(b"old", **changes)
    ((_, refused, _),) = world.sent
    assert isinstance(refused, Refused)
    assert refused.package == __version__
    assert __version__ in refused.message
    submitted = world.submit("a", b"old")
    assert world.received(b"old", Introduce) == [Introduce()]
    assert (world.assigned(), world.lasts(submitted.key)) == ([], [])


@pytest.mark.parametrize("message", [Alive(), Bye()])
def test_a_stranger_is_asked_to_introduce_itself(message: Alive | Bye) -> None:
    world = DispatcherWorld(1)
    world.dispatcher.on_gateway(b"stranger", message, 0.0)
    assert world.sent == [(b"stranger", Introduce(), None)]


def test_a_strangers_job_is_not_taken() -> None:
    world = DispatcherWorld(1)
    world.submit("a", b"stranger")
    assert (world.sent, world.assigned()) == ([(b"stranger", Introduce(), None)], [])


def test_a_heartbeat_is_answered_with_the_incarnation(world: DispatcherWorld) -> None:
    world.dispatcher.on_gateway(b"g1", Alive(), 101.0)
    assert world.received(b"g1", Beat) == [Beat("life-1")]


def test_only_gateways_that_say_nothing_count_as_silent() -> None:
    world = DispatcherWorld(1)
    world.hello(b"quiet")
    world.hello(b"talks")
    world.dispatcher.on_gateway(b"talks", Alive(), 110.0)
    assert world.dispatcher.silent_gateways(115.0, limit_s=10.0) == [b"quiet"]
    assert world.dispatcher.silent_gateways(110.0, limit_s=10.0) == []


def test_a_gateway_that_leaves_has_its_jobs_stopped_and_the_others_go_on(world: DispatcherWorld) -> None:
    world.hello(b"g2")
    for name in ("a1", "a2", "b1", "b2", "a3", "b3"):
        world.submit(name, b"g1" if name[0] == "a" else b"g2")
    running = {index: world.assigned(index) for index in (0, 1)}
    before = len(world.sent)
    world.dispatcher.on_gateway(b"g1", Bye(), 100.0)
    stopped = {cancelled for index in (0, 1) for cancelled in world.told_to_cancel(index)}
    assert stopped == {key("a1"), key("a2")}
    assert world.sent[before:] == []
    for index, keys in running.items():
        for one in keys:
            world.end(index, Cancelled(one)) if one in stopped else world.finish(index, one)
    assert {key("b1"), key("b2"), key("b3")} < set(world.assigned())
    assert key("a3") not in world.assigned()
    assert all(to != b"g1" for to, _, _ in world.sent[before:])
    assert [type(last) for to, last in world.lasts(key("b1"))] == [Done]


def test_a_gateway_that_cannot_be_reached_is_dropped_in_the_middle_of_a_send(world: DispatcherWorld) -> None:
    world.hello(b"g2")
    mine, theirs = world.submit("a"), world.submit("b", b"g2")
    world.unreachable.add(b"g1")
    where = next(index for index in (0, 1) if mine.key in world.assigned(index))
    world.from_worker(where, Chunk(mine.key, "g1", 0, 4), b"0" * 16)
    assert world.told_to_cancel(where) == [mine.key]
    world.end(where, Cancelled(mine.key))
    world.finish(1 - where, theirs.key)
    assert [to for to, _ in world.lasts(theirs.key)] == [b"g2"]
    assert set(world.dispatcher.gateways) == {b"g2"}


def test_all_gateways_may_vanish_while_they_are_told_of_a_change(world: DispatcherWorld) -> None:
    world.hello(b"g2")
    world.unreachable |= {b"g1", b"g2"}
    world.dispatcher.worker_gone(0, "signal SIGKILL")
    assert world.dispatcher.gateways == {}


def test_a_returning_gateway_is_let_in_again(world: DispatcherWorld) -> None:
    world.dispatcher.gateway_gone(b"g1", "silent")
    world.submit("a")
    assert world.received(b"g1", Introduce) == [Introduce()]
    world.hello(b"g1")
    world.submit("a", attempt=2)
    assert world.assigned() == [job(request_id="a", attempt=2).key]


def test_a_gateway_that_greets_again_has_its_earlier_jobs_dropped(world: DispatcherWorld) -> None:
    world.hello(b"g2")
    for name in "abcdef":
        world.submit(name, b"g2" if name == "f" else b"g1")
    running = world.assigned()
    world.hello(b"g1")
    assert {*world.told_to_cancel(0), *world.told_to_cancel(1)} == set(running)
    again = world.submit("e", attempt=2)
    for index in (0, 1):
        for one in world.told_to_cancel(index):
            world.end(index, Cancelled(one))
    assert key("e") not in world.assigned()
    assert {again.key, key("f")} <= set(world.assigned())


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
    failure = one_failure(world, submitted.key)
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
    failure = one_failure(world, refused.key)
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
    assert one_failure(world, world.submit("c", pool="one").key).code == Code.QUEUE_FULL
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


# Workers die


def test_a_dead_workers_jobs_are_answered_and_no_others(world: DispatcherWorld) -> None:
    for name in "abcde":
        world.submit(name)
    lost, kept = world.assigned(0), world.assigned(1)
    world.dispatcher.worker_gone(0, "signal SIGSEGV")
    for one in lost:
        failure = one_failure(world, one)
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


# The catalogue


def test_the_catalogue_is_announced_when_it_changes_and_only_then(world: DispatcherWorld) -> None:
    world.hello(b"g2")
    told = len(world.received(b"g1", Catalogue))
    world.dispatcher.announce()
    world.submit("a")
    world.dispatcher.announce()
    assert len(world.received(b"g1", Catalogue)) == told
    world.dispatcher.worker_gone(0, "exit code 1")
    for gateway in (b"g1", b"g2"):
        assert [pool.n_ready for pool in world.received(gateway, Catalogue)[-1].pools] == [1]
    world.warm(0)
    assert [pool.n_ready for pool in world.received(b"g1", Catalogue)[-1].pools] == [2]
    assert len(world.received(b"g1", Catalogue)) == told + 2


def test_the_service_is_warm_once_every_worker_has_been_and_stays_so() -> None:
    world = DispatcherWorld(1, 1, warm=False)
    world.hello()
    assert world.received(b"g1", Catalogue) == [Catalogue([], warm=False, draining=False, closed=False)]
    world.warm(1)
    assert not world.received(b"g1", Catalogue)[-1].warm
    world.dispatcher.worker_gone(1, "signal SIGKILL")
    world.warm(0)
    assert world.received(b"g1", Catalogue)[-1].warm
    world.dispatcher.worker_gone(0, "signal SIGKILL")
    last = world.received(b"g1", Catalogue)[-1]
    assert (last.warm, [pool.n_ready for pool in last.pools]) == (True, [0])


def test_a_new_model_is_announced_with_its_generation(world: DispatcherWorld) -> None:
    world.dispatcher.worker_gone(0, "exit code 0")
    world.warm(0, "g2", model_hash="ffff")
    (pool,) = world.received(b"g1", Catalogue)[-1].pools
    assert (pool.generation, pool.engine.model_hash) == ("g2", "ffff")


# The end


def test_draining_hands_waiting_jobs_back_and_lets_running_ones_finish(world: DispatcherWorld) -> None:
    for name in "abcdef":
        world.submit(name)
    running = world.assigned()
    world.dispatcher.drain()
    assert [one_failure(world, key(name)).code for name in "ef"] == [Code.DRAINING] * 2
    assert one_failure(world, world.submit("late").key).code == Code.DRAINING
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
    assert [one_failure(world, key(f"b{n}")).code for n in range(3)] == [Code.DRAINING] * 3
    assert set(world.dispatcher.gateways) == {b"g2"}
