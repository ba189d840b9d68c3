"""Rolling the workers: one at a time, the dead first, and never away from a model that a request still needs."""

from __future__ import annotations

from support.dispatching import DispatcherWorld, key
from tts_service.errors import Code
from tts_service.protocol import Assign, Stop
from tts_service.settings import WorkerSettings
from tts_workers.child import Child
from tts_workers.roll import QUIET_S, Roll
from tts_workers.spec import WorkerSpec

PATIENCE_S = 10.0


class RollWorld(DispatcherWorld):
    """Children without processes: a life begins and ends by the test's order."""

    def __init__(self, *n_slots: int) -> None:
        super().__init__(*n_slots)
        self.children = [Child(spec(index), WorkerSettings()) for index in range(len(n_slots))]
        self.submitted_by = {}
        for child in self.children:
            self.begin_life(child)
        successors = [spec(index, models="/new") for index in range(len(n_slots))]
        self.roll = Roll(successors, self.children, self.dispatcher, PATIENCE_S)
        self.hello()

    def begin_life(self, child: Child) -> None:
        child.spec = WorkerSpec(**{f: getattr(child.spec, f) for f in WorkerSpec.__struct_fields__} | {
            "incarnation": child.spec.incarnation + 1})  # fmt: skip
        child.pid, child.phase = 1000 + child.spec.incarnation, "idle"  # type: ignore[assignment]

    def end_life(self, index: int) -> None:
        child = self.children[index]
        child.pid, child.phase = 0, "start"  # type: ignore[assignment]
        child._follow()
        self.dispatcher.worker_gone(index, "reload")

    def replace(self, index: int, generation: str = "g1") -> None:
        """A worker ends and its successor comes up."""
        self.end_life(index)
        self.begin_life(self.children[index])
        self.warm(index, generation)

    def told_to_stop(self) -> list[int]:
        return [index for index, message in self.orders if isinstance(message, Stop)]


def spec(index: int, models: str = "") -> WorkerSpec:
    return WorkerSpec(index, 0, 1, "ipc://x", "default", "tone", models, {}, [index], 1, 2, 1.0, "info")


def test_one_worker_at_a_time_is_told_to_go_and_each_gets_its_new_spec() -> None:
    world = RollWorld(2, 2, 2)
    for n in range(3):
        for _ in range(3):
            assert not world.roll.advance(world.now)
        assert world.told_to_stop() == list(range(n + 1))
        world.replace(n)
    assert world.roll.advance(world.now)
    assert world.roll.failure == ""
    assert {child.spec.models for child in world.children} == {"/new"}
    assert [child.spec.incarnation for child in world.children] == [2, 2, 2]


def test_a_worker_that_does_not_serve_goes_first() -> None:
    world = RollWorld(2, 2)
    world.end_life(1)
    world.roll.advance(world.now)
    assert world.children[1].spec.models == "/new"
    assert world.told_to_stop() == []


def test_nobody_goes_while_a_neighbour_is_being_recycled() -> None:
    world = RollWorld(2, 2)
    world.dispatcher.workers[1].retiring = True
    world.roll.advance(world.now)
    assert world.told_to_stop() == []


def test_a_successor_that_ends_before_it_is_warm_ends_the_roll() -> None:
    world = RollWorld(2, 2)
    world.roll.advance(world.now)
    world.end_life(0)
    world.begin_life(world.children[0])
    world.children[0].phase = "load"  # type: ignore[assignment]
    assert not world.roll.advance(world.now)
    world.children[0].pid = 0
    assert world.roll.advance(world.now)
    assert "worker 0 ended before it was warm" in world.roll.failure
    assert world.roll.touched == {0}


def test_the_last_worker_with_a_model_stays_while_requests_that_began_with_it_need_it() -> None:
    world = RollWorld(2, 2)
    world.roll.advance(world.now)
    world.replace(0, "g2")
    world.submit("old", generation="g1")
    assert (1, "old") in [(i, m.job.key.request_id) for i, m in world.orders if isinstance(m, Assign)]
    for _ in range(3):
        assert not world.roll.advance(world.now)
        world.now += 0.5
    assert world.told_to_stop() == [0]
    world.finish(1, key("old"))
    world.roll.advance(world.now)
    assert world.told_to_stop() == [0], "its next segment may be on its way"
    world.now += QUIET_S
    world.roll.advance(world.now)
    assert world.told_to_stop() == [0, 1]


def test_a_request_that_needs_an_old_model_for_too_long_does_not_hold_up_the_roll() -> None:
    world = RollWorld(2, 2)
    world.roll.advance(world.now)
    world.replace(0, "g2")
    world.submit("endless", generation="g1")
    world.roll.advance(world.now)
    world.now += PATIENCE_S + 0.1
    world.roll.advance(world.now)
    assert 1 in [worker.index for worker in world.dispatcher.workers.values() if worker.retiring]


def test_jobs_go_to_workers_with_the_model_they_began_with() -> None:
    world = RollWorld(2, 2)
    world.replace(0, "g2")
    for n in range(2):
        world.submit(f"old{n}", generation="g1")
        world.submit(f"new{n}", generation="g2")
    got = {m.job.key.request_id: index for index, m in world.orders if isinstance(m, Assign)}
    assert got == {"old0": 1, "old1": 1, "new0": 0, "new1": 0}


def test_a_job_whose_model_is_gone_is_still_given_to_a_worker_who_refuses_it() -> None:
    world = RollWorld(2)
    world.replace(0, "g2")
    world.submit("late", generation="g1")
    assert [m.job.key for _, m in world.orders if isinstance(m, Assign)] == [key("late")]
    assert not Code.GENERATION_CHANGED.resubmittable
