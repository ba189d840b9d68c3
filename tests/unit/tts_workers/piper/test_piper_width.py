"""A real voice on many threads, on few, and on ever other numbers of them: the bytes are the same."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.engine_cases import job_for, step_alone
from support.piper_voices import cache_directory, joe_directory
from support.properties import property_settings
from tts_workers.engines import EngineOptions
from tts_workers.engines.piper.crew import Crew
from tts_workers.engines.piper.engine import PiperEngine

TEXT = "Could you please open the window and let in some fresh air, because it is very warm in here tonight?"
N_THREADS = 3


@pytest.fixture(scope="module")
def engine() -> PiperEngine:
    """Three threads."""
    made = PiperEngine(EngineOptions(joe_directory(), N_THREADS, {"cache": str(cache_directory())}))
    made.load()
    return made


def spoken(engine: PiperEngine, widths: list[int], *, streamed: bool) -> tuple[bytes, int]:
    """Return samples and number of steps of a job whose n-th step is made on `widths[n]` threads."""
    sequence = engine.start(job_for(engine, TEXT, streamed=streamed))
    parts = []
    finished = False
    while not finished:
        engine.set_width(widths[min(len(parts), len(widths) - 1)])
        output = step_alone(engine, sequence)
        parts.append(output.samples)
        finished = output.finished
    return np.concatenate(parts).tobytes(), len(parts)


@pytest.mark.parametrize("streamed", [False, True])
def test_bytes_do_not_depend_on_when_a_worker_narrows(engine: PiperEngine, streamed: bool) -> None:
    narrow, n_narrow = spoken(engine, [1], streamed=streamed)
    wide, n_wide = spoken(engine, [N_THREADS], streamed=streamed)
    assert wide == narrow
    assert n_wide < n_narrow

    @property_settings(4)
    @given(st.lists(st.integers(1, N_THREADS), min_size=1, max_size=n_narrow))
    def narrows_at_any_step(widths: list[int]) -> None:
        assert spoken(engine, widths, streamed=streamed)[0] == narrow

    narrows_at_any_step()


@pytest.mark.parametrize(("asked", "width"), [(-1, 1), (0, 1), (1, 1), (2, 2), (3, 3), (99, 3)])
def test_a_crew_is_never_wider_than_its_threads(asked: int, width: int) -> None:
    crew = Crew(3)
    crew.set_width(asked)
    assert crew.width == width


def test_a_narrow_crew_leaves_its_other_threads_asleep() -> None:
    crew = Crew(4)
    crew.start()
    n_threads = threading.active_count()
    crew.set_width(1)
    assert set(crew.map(lambda _: threading.get_ident(), range(40))) == {threading.get_ident()}
    crew.set_width(3)
    barrier = threading.Barrier(3, timeout=20)

    def meet(n: int) -> int:
        barrier.wait()
        return threading.get_ident()

    assert len(set(crew.map(meet, range(3)))) == 3
    assert threading.active_count() == n_threads
