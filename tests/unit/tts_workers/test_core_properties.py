"""Whatever is assigned, cancelled and advanced in whatever order: what the synthesis core promises holds after each."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from support.outbox import Outbox
from support.pools import job
from support.properties import property_settings
from support.scripted_engine import REFUSAL, Script, ScriptedEngine, samples_of
from tts_service.errors import Code
from tts_service.protocol import Done, Failed, Job, JobKey
from tts_workers.core import SynthesisCore
from tts_workers.slots import SlotState

SCRIPTS = st.builds(
    Script,
    blocks=st.lists(st.integers(0, 5), min_size=1, max_size=4).map(tuple),
    start_raises=st.sampled_from([None, None, None, None, REFUSAL, ValueError("a fault")]),
    trouble=st.sampled_from(["none", "none", "none", "error", "raise", "nan", "nothing"]),
    at=st.integers(0, 3),
)


class CoreMachine(RuleBasedStateMachine):
    """Plays dispatcher: it keeps the credits, and knows every job that it has assigned."""

    @initialize(stepping=st.sampled_from(["turns", "batched"]), n_slots=st.integers(1, 4))
    def start(self, stepping: str, n_slots: int) -> None:
        self.engine = ScriptedEngine("batched" if stepping == "batched" else "turns")
        self.outbox = Outbox()
        self.core = SynthesisCore(self.engine, "g1", n_slots, self.outbox.send)
        self.n_slots = n_slots
        self.jobs: dict[JobKey, Job] = {}
        self.cancelled: set[JobKey] = set()

    @property
    def credits(self) -> int:
        return self.n_slots - len(self.jobs) + self.outbox.n_credits

    @precondition(lambda self: self.credits > 0)
    @rule(
        script=SCRIPTS,
        from_sample=st.integers(0, 12),
        max_samples=st.integers(1, 30),
        deadline=st.integers(0, 3),
        generation=st.sampled_from(["", "g1", "g1", "g0"]),
    )
    def assign(self, script: Script, from_sample: int, max_samples: int, deadline: int, generation: str) -> None:
        assigned = job(
            request_id=f"r{len(self.jobs)}",
            seed=len(self.jobs),
            from_sample=from_sample,
            max_samples=max_samples,
            deadline_s=float(deadline),
            generation=generation,
        )
        self.engine.scripts[assigned.key.request_id] = script
        self.jobs[assigned.key] = assigned
        self.core.assign(assigned)

    @rule(which=st.integers(0, 60))
    def cancel(self, which: int) -> None:
        key = list(self.jobs)[which % len(self.jobs)] if self.jobs and which < 55 else job(request_id="unknown").key
        had_ended = bool(self.outbox.lasts(key))
        n_messages = len(self.outbox.messages)
        self.core.cancel(key)
        if key in self.jobs and not had_ended:
            assert self.outbox.lasts(key)
        else:
            assert len(self.outbox.messages) == n_messages

    @rule(n=st.integers(1, 4))
    def advance(self, n: int) -> None:
        for _ in range(n):
            self.core.advance()

    @invariant()
    def credits_and_active_slots_are_all_the_slots(self) -> None:
        assert self.credits + self.core.slots.n_active == self.n_slots

    @invariant()
    def a_job_has_ended_once_or_is_in_a_slot(self) -> None:
        for key in self.jobs:
            assert len(self.outbox.lasts(key)) == (0 if self.core.slots.find(key) else 1)

    @invariant()
    def the_engine_holds_what_is_running_and_nothing_else(self) -> None:
        running = [slot.sequence for slot in self.core.slots.slots if slot.state is SlotState.RUNNING]
        assert sorted(map(id, running)) == sorted(map(id, self.engine.held))

    @invariant()
    def audio_is_a_gapless_beginning_of_what_was_wanted(self) -> None:
        for key, assigned in self.jobs.items():
            whole = samples_of(assigned, 0, self.engine.scripts[key.request_id].n_samples)
            wanted = whole[assigned.from_sample :]
            audio = self.outbox.audio(key)
            assert np.array_equal(audio, wanted[: len(audio)])
            if len(audio):
                assert self.outbox.first_sample(key) == assigned.from_sample
                assert assigned.from_sample + len(audio) <= assigned.max_samples
            ends = self.outbox.lasts(key)
            if ends and isinstance(ends[0], Done):
                assert (ends[0].n_samples, len(audio)) == (len(whole), len(wanted))
            if ends and isinstance(ends[0], Failed) and ends[0].code == Code.AUDIO_TOO_LONG:
                assert len(whole) > assigned.max_samples

    def teardown(self) -> None:
        for _ in range(200):
            self.core.advance()
        assert self.core.slots.n_active == 0
        assert self.engine.held == []
        for key in self.jobs:
            self.outbox.last(key)
        assert self.outbox.n_credits == len(self.jobs)


CoreMachine.TestCase.settings = property_settings(60, n_steps=40)
TestAnyOrder = CoreMachine.TestCase
