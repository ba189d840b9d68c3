"""The dispatcher: which gateways are let in, what they are told, and what becomes of the jobs of one that goes."""

from __future__ import annotations

import pytest

from support.dispatching import DispatcherWorld, key
from support.pools import job
from tts_service import __version__
from tts_service.protocol import (
    PROTOCOL_VERSION,
    Alive,
    Beat,
    Bye,
    Cancelled,
    Catalogue,
    Chunk,
    Done,
    Introduce,
    Refused,
    Welcome,
)


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
    assert world.received(b"g1", Catalogue) == [
        Catalogue([], warm=False, draining=False, closed=False, default_pool="default")
    ]
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
