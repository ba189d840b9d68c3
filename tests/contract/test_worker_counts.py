"""Promise 2 over a whole pool in one process: however many workers and slots, whatever dies or leaves, same bytes."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.dispatched_cores import GENERATION, DispatchedCores
from support.engine_cases import TEXTS, EngineCase, job_for, speak
from support.properties import property_settings
from tts_service.protocol import Cancelled, Done, Job
from tts_workers.engines import Engine
from tts_workers.engines.base import Samples


@dataclass(frozen=True)
class Event:
    """Something that happens: a core works or crashes, a request comes, or a client leaves."""

    kind: str
    which: int


EVENTS = st.lists(
    st.builds(
        Event,
        kind=st.sampled_from(["work", "work", "work", "work", "come", "come", "leave", "crash"]),
        which=st.integers(0, 7),
    ),
    min_size=5,
    max_size=25,
)


class Listener:
    """Knows what each request must sound like."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._alone: dict[tuple[str, str, int], Samples] = {}

    def job(self, n: int, which: int) -> Job:
        """Return the request number `n`, for one of eight texts and seeds."""
        voices = self.engine.info.voices
        return job_for(
            self.engine,
            TEXTS[which % len(TEXTS)],
            request_id=str(n),
            voice=voices[which % len(voices)].id,
            seed=which // len(TEXTS),
            generation=GENERATION,
            deadline_s=100.0 + which,
            client=str(which % 2),
        )

    def alone(self, job: Job) -> Samples:
        """Return its audio with nothing else in the engine."""
        key = (job.voice, job.text, job.seed)
        if key not in self._alone:
            self._alone[key] = speak(self.engine, job).samples
        return self._alone[key]


def play(listener: Listener, events: list[Event], n_workers: int, n_slots: int) -> None:
    """Let it all happen; assert that whoever stayed has heard all of it, and whoever left the beginning."""
    pool = DispatchedCores(listener.engine, n_workers, n_slots)
    jobs: list[Job] = []
    left: set[str] = set()
    for event in events:
        if event.kind == "come":
            jobs.append(listener.job(len(jobs), event.which))
            pool.submit(jobs[-1])
        elif event.kind == "leave" and jobs:
            gone = jobs[event.which % len(jobs)].key.request_id
            left.add(gone)
            pool.cancel(gone)
        elif event.kind == "crash":
            pool.crash(event.which % n_workers)
        else:
            pool.work(event.which % n_workers)
    pool.finish()
    for job in jobs:
        name, wanted = job.key.request_id, listener.alone(job)
        heard, end = pool.heard(name), pool.ends[name]
        assert isinstance(end, Done) or (isinstance(end, Cancelled) and name in left)
        assert len(heard) == len(wanted) or isinstance(end, Cancelled)
        assert heard.tobytes() == wanted[: len(heard)].tobytes()


def test_however_many_workers_and_slots_the_bytes_are_the_same(engine: Engine, case: EngineCase) -> None:
    listener = Listener(engine)

    @property_settings(case.examples)
    @given(EVENTS, st.integers(1, 4), st.integers(1, 3))
    def whatever(events: list[Event], n_workers: int, n_slots: int) -> None:
        play(listener, events, n_workers, n_slots)

    whatever()


@pytest.mark.parametrize("phase", ["queued", "assigned", "before the first audio", "in the middle"])
def test_who_leaves_costs_no_further_step_and_frees_its_slot_at_once(engine: Engine, phase: str) -> None:
    pool = DispatchedCores(engine, 1, 1)
    names = ["other", "leaver"] if phase == "queued" else ["leaver"]
    for name in names:
        pool.submit(job_for(engine, TEXTS[1], request_id=name, generation=GENERATION))
    for _ in range({"queued": 1, "assigned": 0, "before the first audio": 1, "in the middle": 2}[phase]):
        pool.work(0)
    n_steps = pool.n_steps
    pool.cancel("leaver")
    assert isinstance(pool.ends["leaver"], Cancelled)
    assert pool.n_active == len(names) - 1
    pool.finish()
    if phase == "queued":
        assert isinstance(pool.ends["other"], Done)
        assert pool.n_steps <= len(speak(engine, job_for(engine, TEXTS[1])).lengths), "those of the other alone"
    else:
        assert pool.n_steps == n_steps
