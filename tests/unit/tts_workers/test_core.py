"""The synthesis core: every job ends in exactly one last message and one credit, whatever the engine does."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from support.outbox import Outbox
from support.pools import job
from support.scripted_engine import REFUSAL, Script, ScriptedEngine, Trouble, samples_of
from tts_service.errors import Code, EngineBroken, RequestFailed
from tts_service.protocol import Cancelled, Chunk, Credit, Done, Failed, Job, Phase
from tts_workers.core import SynthesisCore, failed, payload
from tts_workers.slots import SlotState

GENERATION = "g1"


class World:
    """A core with a scripted engine, and everything it has sent."""

    def __init__(self, stepping: str = "turns", n_slots: int = 2) -> None:
        self.engine = ScriptedEngine("batched" if stepping == "batched" else "turns")
        self.outbox = Outbox()
        self.core = SynthesisCore(self.engine, GENERATION, n_slots, self.outbox.send)

    def assign(self, script: Script | None = None, **fields: Any) -> Job:
        """Give the core a job that follows a script."""
        assigned = job(**fields)
        self.engine.scripts[assigned.key.request_id] = script or Script()
        self.core.assign(assigned)
        return assigned

    def advance(self, n: int) -> None:
        for _ in range(n):
            self.core.advance()

    def finish(self) -> None:
        """Advance until nothing is left to do."""
        for _ in itertools.takewhile(lambda _: self.core.slots.n_active, range(10_000)):
            self.core.advance()
        assert self.core.slots.n_active == 0
        assert self.engine.held == []


@pytest.fixture(params=["turns", "batched"])
def world(request: pytest.FixtureRequest) -> World:
    return World(request.param)


def test_a_job_is_spoken_whole_and_ends_in_one_done_and_one_credit(world: World) -> None:
    spoken = world.assign(Script((4, 4, 2)))
    world.finish()
    last = world.outbox.last(spoken.key)
    assert isinstance(last, Done)
    assert (last.n_samples, last.generation) == (10, GENERATION)
    assert np.array_equal(world.outbox.audio(spoken.key), samples_of(spoken, 0, 10))
    assert world.outbox.n_credits == 1
    assert type(world.outbox.messages[-1]) is Credit


def test_an_idle_core_does_nothing(world: World) -> None:
    world.advance(3)
    assert (world.outbox.messages, world.engine.steps, world.core.next_phase) == ([], [], Phase.IDLE)


def test_the_phase_names_what_comes_next(world: World) -> None:
    world.assign(Script((1, 1)))
    phases = [world.core.next_phase]
    for _ in range(3):
        world.core.advance()
        phases.append(world.core.next_phase)
    assert phases == [Phase.PREPARE, Phase.STEP, Phase.STEP, Phase.IDLE]


def test_an_advance_is_one_piece_of_engine_work(world: World) -> None:
    world.assign(Script((1, 1)), request_id="a")
    world.assign(Script((1, 1)), request_id="b")
    world.advance(2)
    assert (len(world.engine.held), world.engine.steps) == (2, [])
    world.advance(1)
    assert len(world.engine.steps) == 1


def test_turn_taking_engines_step_the_earliest_deadline_alone() -> None:
    world = World("turns")
    world.assign(Script((1, 1)), request_id="late", deadline_s=2.0)
    world.assign(Script((1, 1)), request_id="soon", deadline_s=1.0)
    world.finish()
    assert world.engine.steps == [["soon"], ["soon"], ["late"], ["late"]]


def test_batched_engines_step_all_and_a_new_segment_joins_at_the_next_step() -> None:
    world = World("batched")
    world.assign(Script((1, 1, 1)), request_id="first", deadline_s=1.0)
    world.advance(2)
    world.assign(Script((1, 1, 1)), request_id="second", deadline_s=2.0)
    world.finish()
    assert world.engine.steps == [["first"], ["first", "second"], ["first", "second"], ["second"]]


def test_samples_are_never_given_to_another_job() -> None:
    world = World("batched", n_slots=3)
    jobs = [world.assign(Script((3, 5)), request_id=name, seed=seed) for seed, name in enumerate("abc")]
    world.finish()
    for spoken in jobs:
        assert np.array_equal(world.outbox.audio(spoken.key), samples_of(spoken, 0, 8))


@pytest.mark.parametrize("from_sample", [0, 1, 3, 4, 5, 8, 9, 10, 11, 500])
def test_earlier_samples_are_left_out_and_offsets_count_from_the_segment(world: World, from_sample: int) -> None:
    spoken = world.assign(Script((4, 4, 2)), from_sample=from_sample)
    world.finish()
    last = world.outbox.last(spoken.key)
    assert isinstance(last, Done)
    assert last.n_samples == 10
    assert np.array_equal(world.outbox.audio(spoken.key), samples_of(spoken, min(from_sample, 10), 10))
    assert world.outbox.first_sample(spoken.key) == (from_sample if from_sample < 10 else None)


def test_steps_without_samples_send_nothing(world: World) -> None:
    spoken = world.assign(Script((0, 4, 0)))
    world.finish()
    assert [type(message) for message in world.outbox.messages] == [Chunk, Done, Credit]
    assert len(world.outbox.audio(spoken.key)) == 4


@pytest.mark.parametrize(
    ("error", "code"),
    [(REFUSAL, Code.UNSUPPORTED_TEXT), (ValueError("a fault"), Code.ENGINE_FAILED)],
    ids=["refused", "raised"],
)
def test_a_segment_that_cannot_be_started_fails_alone(world: World, error: Exception, code: Code) -> None:
    other = world.assign(request_id="other")
    bad = world.assign(Script(start_raises=error), request_id="bad")
    world.finish()
    last = world.outbox.last(bad.key)
    assert isinstance(last, Failed)
    assert last.code == code
    assert len(world.outbox.audio(other.key)) == 10
    assert world.outbox.n_credits == 2


def test_the_engines_own_words_reach_the_client_and_an_exceptions_do_not(world: World) -> None:
    refused = world.assign(Script(start_raises=REFUSAL), request_id="refused")
    raised = world.assign(Script(start_raises=ValueError("/secret/path")), request_id="raised")
    world.finish()
    last = world.outbox.last(refused.key)
    assert isinstance(last, Failed)
    assert (last.message, last.param) == ("not this text", "input")
    last = world.outbox.last(raised.key)
    assert isinstance(last, Failed)
    assert "secret" not in last.message


@pytest.mark.parametrize(
    ("trouble", "code"),
    [("error", Code.UNSUPPORTED_TEXT), ("nan", Code.ENGINE_FAILED), ("nothing", Code.ENGINE_FAILED)],
)
def test_trouble_of_one_segment_in_a_step_is_its_own(world: World, trouble: Trouble, code: Code) -> None:
    good = world.assign(Script((4, 4, 2)), request_id="good")
    bad = world.assign(Script((4, 4, 2), trouble=trouble, at=1), request_id="bad")
    world.finish()
    last = world.outbox.last(bad.key)
    assert isinstance(last, Failed)
    assert last.code == code
    assert np.array_equal(world.outbox.audio(bad.key), samples_of(bad, 0, 4))
    assert np.array_equal(world.outbox.audio(good.key), samples_of(good, 0, 10))
    assert world.outbox.n_credits == 2


def test_an_exception_in_a_step_of_several_blames_none_of_them_and_the_core_goes_on() -> None:
    world = World("batched", n_slots=3)
    together = [world.assign(Script((1, 1), trouble="raise", at=1), request_id="bad"), world.assign(request_id="good")]
    world.finish()
    for lost in together:
        last = world.outbox.last(lost.key)
        assert isinstance(last, Failed)
        assert last.code == Code.ENGINE_FAILED_TOGETHER
    alone = world.assign(Script((1, 1), trouble="raise", at=1), request_id="bad", attempt=2)
    world.finish()
    last = world.outbox.last(alone.key)
    assert isinstance(last, Failed)
    assert last.code == Code.ENGINE_FAILED
    later = world.assign(request_id="later")
    world.finish()
    assert isinstance(world.outbox.last(later.key), Done)


def test_an_exception_in_a_turn_fails_nobody_else() -> None:
    world = World("turns")
    world.assign(Script((1, 1), trouble="raise"), request_id="bad")
    good = world.assign(request_id="good")
    world.finish()
    assert isinstance(world.outbox.last(good.key), Done)


@pytest.mark.parametrize("where", ["start", "step"])
def test_a_broken_engine_ends_the_process_and_not_the_job(world: World, where: str) -> None:
    error = EngineBroken("out of order")
    world.assign(Script(start_raises=error) if where == "start" else Script(trouble="raise", raises=error))
    with pytest.raises(EngineBroken):
        world.advance(2)
    assert world.outbox.messages == []


@pytest.mark.parametrize(("max_samples", "delivered"), [(10, 10), (9, 8), (8, 8), (7, 4), (1, 0)])
def test_a_segment_longer_than_its_limit_fails_before_its_excess_is_sent(
    world: World, max_samples: int, delivered: int
) -> None:
    spoken = world.assign(Script((4, 4, 2)), max_samples=max_samples)
    world.finish()
    last = world.outbox.last(spoken.key)
    assert (last.code if isinstance(last, Failed) else "done") == ("done" if delivered == 10 else Code.AUDIO_TOO_LONG)
    assert len(world.outbox.audio(spoken.key)) == delivered


@pytest.mark.parametrize("n_advances", range(5))
def test_a_cancelled_segment_stops_in_whatever_state_it_is(world: World, n_advances: int) -> None:
    spoken = world.assign(Script((4, 4, 2)))
    world.advance(n_advances)
    ended = n_advances == 4
    sent = len(world.outbox.messages)
    world.core.cancel(spoken.key)
    after = world.outbox.messages[sent:]
    assert after == ([] if ended else [Cancelled(spoken.key), Credit(1)])
    assert (world.core.slots.n_active, world.engine.held) == (0, [])
    world.advance(3)
    assert len(world.outbox.lasts(spoken.key)) == 1


def test_cancelling_one_segment_leaves_its_neighbour_alone() -> None:
    world = World("batched")
    gone, stays = world.assign(request_id="gone"), world.assign(request_id="stays")
    world.advance(3)
    world.core.cancel(gone.key)
    world.finish()
    assert np.array_equal(world.outbox.audio(stays.key), samples_of(stays, 0, 10))


def test_an_unknown_or_older_attempt_is_not_cancelled(world: World) -> None:
    spoken = world.assign(attempt=2)
    world.core.cancel(job(attempt=1).key)
    world.core.cancel(job(request_id="stranger").key)
    world.finish()
    assert isinstance(world.outbox.last(spoken.key), Done)
    world.core.cancel(spoken.key)
    assert len(world.outbox.lasts(spoken.key)) == 1


@pytest.mark.parametrize(("generation", "taken"), [(GENERATION, True), ("", True), ("g0", False)])
def test_a_job_for_another_model_is_answered_at_once(world: World, generation: str, taken: bool) -> None:
    spoken = world.assign(generation=generation)
    if not taken:
        (last, credit) = world.outbox.messages
        assert isinstance(last, Failed)
        assert (last.code, credit) == (Code.GENERATION_CHANGED, Credit(1))
    world.finish()
    assert isinstance(world.outbox.last(spoken.key), Done if taken else Failed)
    assert world.outbox.n_credits == 1


def test_a_job_without_a_free_slot_is_an_error_of_the_dispatcher(world: World) -> None:
    world.assign(request_id="a")
    world.assign(request_id="b")
    with pytest.raises(LookupError):
        world.assign(request_id="c")


def test_counters_tell_what_was_done(world: World) -> None:
    world.assign(Script((4, 4, 2)), request_id="a")
    world.finish()
    world.assign(Script(trouble="error"), request_id="b")
    world.assign(Script((4, 2)), request_id="c")
    world.advance(1)
    assert world.core.stats().slots_active == 2
    world.finish()
    stats = world.core.stats()
    assert (stats.slots_active, stats.segments_done) == (0, 2)
    assert stats.audio_seconds == pytest.approx(0.016)
    assert stats.steps == len(world.engine.steps) == sum(stats.step_counts)
    assert stats.busy_seconds > 0


def test_compute_time_of_a_batched_step_is_shared_among_its_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count()
    world = World("batched")
    jobs = [world.assign(Script((1,)), request_id=name) for name in "ab"]
    # Every reading of the clock is a second later: three go by in each piece of work, with the busy meter's own two.
    monkeypatch.setattr("time.monotonic", lambda: float(next(clock)))
    world.finish()
    monkeypatch.undo()
    for spoken in jobs:
        last = world.outbox.last(spoken.key)
        assert isinstance(last, Done)
        assert last.compute_s == pytest.approx(3.0 + 3.0 / 2)


def test_a_chunks_payload_is_little_endian_float32() -> None:
    assert payload(np.array([1.0, -0.5], np.float32)) == bytes.fromhex("0000803f000000bf")
    assert payload(np.arange(10, dtype=np.float32)[::2]) == np.array([0, 2, 4, 6, 8], "<f4").tobytes()
    assert payload(np.array([1.0], np.float64)) == bytes.fromhex("0000803f")


def test_a_failure_keeps_all_that_the_error_says() -> None:
    error = RequestFailed(Code.QUEUE_FULL, "full", param="input", retry_after_s=2.5)
    assert failed(job().key, error) == Failed(job().key, "queue_full", "full", "input", 2.5)


def test_slots_are_free_again_after_any_end(world: World) -> None:
    for n, script in enumerate(
        [Script(), Script(start_raises=REFUSAL), Script(trouble="nan"), Script(trouble="raise")]
    ):
        world.assign(script, request_id=str(n))
        world.finish()
    assert [slot.state for slot in world.core.slots.slots] == [SlotState.FREE] * 2
    assert world.outbox.n_credits == 4
