"""Promise 2 in one process: neighbours, slots and the order of work change nothing in a job's bytes."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.engine_cases import TEXTS, EngineCase, job_for, speak
from support.outbox import Outbox
from support.properties import property_settings
from tts_service.protocol import Cancelled, Done, Job
from tts_workers.core import SynthesisCore
from tts_workers.engines import Engine
from tts_workers.engines.base import Samples

N_SLOTS = 4
SPEEDS = (1.0, 1.3)


@dataclass(frozen=True)
class Request:
    """One job of a schedule; numbers choose among what the engine has."""

    voice: int
    text: int
    seed: int
    speed: int
    from_part: float
    """Where the wanted audio begins, as a part of the whole; above 1 beyond its end."""
    deadline: int
    comes_after: int
    """Pieces of engine work before it is assigned."""
    cancelled_after: int | None
    """Pieces of engine work after its assignment until it is cancelled."""


REQUESTS = st.lists(
    st.builds(
        Request,
        voice=st.integers(0, 3),
        text=st.integers(0, len(TEXTS) - 1),
        seed=st.integers(0, 1),
        speed=st.integers(0, len(SPEEDS) - 1),
        from_part=st.sampled_from([0.0, 0.0, 0.01, 0.5, 0.99, 1.0, 1.5]),
        deadline=st.integers(0, 3),
        comes_after=st.integers(0, 6),
        cancelled_after=st.sampled_from([None, None, None, 0, 1, 2, 3, 5]),
    ),
    min_size=2,
    max_size=5,
)


class Schedule:
    """Runs requests through a core, and keeps what each would be alone."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._alone = functools.cache(self._speak_alone)

    def _speak_alone(self, voice: str, text: str, seed: int, speed: float) -> Samples:
        return speak(self.engine, job_for(self.engine, text, voice=voice, seed=seed, speed=speed)).samples

    def alone(self, job: Job) -> Samples:
        """Return the whole segment as it is with nothing else in the engine."""
        return self._alone(job.voice, job.text, job.seed, job.speed)

    def job(self, request: Request, n: int) -> Job:
        """Return a request as a job."""
        voices = self.engine.info.voices
        whole = job_for(
            self.engine,
            TEXTS[request.text],
            request_id=str(n),
            voice=voices[request.voice % len(voices)].id,
            seed=request.seed,
            speed=SPEEDS[request.speed],
        )
        from_sample = round(request.from_part * len(self.alone(whole)))
        return job_for(
            self.engine,
            whole.text,
            request_id=str(n),
            voice=whole.voice,
            seed=whole.seed,
            speed=whole.speed,
            from_sample=from_sample,
            deadline_s=float(request.deadline),
        )

    def run(self, requests: list[Request]) -> tuple[Outbox, list[Job]]:
        """Assign, cancel and work as the requests say, until all have ended."""
        jobs = [self.job(request, n) for n, request in enumerate(requests)]
        outbox = Outbox()
        core = SynthesisCore(self.engine, "g", N_SLOTS, outbox.send)
        to_come = sorted(range(len(jobs)), key=lambda n: (requests[n].comes_after, n))
        since = dict.fromkeys(range(len(jobs)), -1)
        worked = 0
        while to_come or core.slots.n_active:
            while to_come and core.slots.n_active < N_SLOTS and requests[to_come[0]].comes_after <= worked:
                n = to_come.pop(0)
                since[n] = worked
                core.assign(jobs[n])
            for n, request in enumerate(requests):
                if since[n] >= 0 and request.cancelled_after == worked - since[n]:
                    core.cancel(jobs[n].key)
            core.advance()
            worked += 1
        return outbox, jobs


def check(outbox: Outbox, jobs: list[Job], requests: list[Request], schedule: Schedule) -> None:
    """Assert that every job has the bytes it has alone, as far as it got."""
    for job, request in zip(jobs, requests, strict=True):
        wanted = schedule.alone(job)[job.from_sample :]
        heard = outbox.audio(job.key)
        last = outbox.last(job.key)
        if isinstance(last, Done):
            assert last.n_samples == len(schedule.alone(job))
            assert heard.tobytes() == wanted.tobytes()
        else:
            assert isinstance(last, Cancelled)
            assert request.cancelled_after is not None
            assert heard.tobytes() == wanted[: len(heard)].tobytes()
    assert outbox.n_credits == len(jobs)


def test_whatever_goes_on_beside_a_job_its_bytes_are_those_it_has_alone(engine: Engine, case: EngineCase) -> None:
    schedule = Schedule(engine)

    @property_settings(case.examples)
    @given(REQUESTS)
    def whatever(requests: list[Request]) -> None:
        outbox, jobs = schedule.run(requests)
        check(outbox, jobs, requests, schedule)

    whatever()


def test_equal_jobs_side_by_side_have_equal_bytes(engine: Engine) -> None:
    requests = [Request(1, 1, 1, 0, 0.0, n % 2, n, None) for n in range(4)]
    schedule = Schedule(engine)
    outbox, jobs = schedule.run(requests)
    check(outbox, jobs, requests, schedule)
    assert len({outbox.audio(job.key).tobytes() for job in jobs}) == 1


@pytest.mark.parametrize("from_part", [0.0, 0.25, 0.5, 1.0])
def test_a_continuation_is_the_tail_of_the_whole(engine: Engine, from_part: float) -> None:
    whole = speak(engine, job_for(engine, TEXTS[1])).samples
    for offset in (-1, 0, 1):
        wanted = job_for(engine, TEXTS[1], from_sample=max(0, round(from_part * len(whole)) + offset))
        outbox = Outbox()
        core = SynthesisCore(engine, "g", 1, outbox.send)
        core.assign(wanted)
        while core.slots.n_active:
            core.advance()
        assert isinstance(outbox.last(wanted.key), Done)
        assert outbox.audio(wanted.key).tobytes() == whole[wanted.from_sample :].tobytes()
