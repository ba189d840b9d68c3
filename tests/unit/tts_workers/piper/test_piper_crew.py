"""A fixed number of threads does independent pieces of work side by side."""

from __future__ import annotations

import gc
import threading

import pytest

from tts_workers.engines.piper.crew import Crew


def crew_of(n_threads: int) -> Crew:
    crew = Crew(n_threads)
    crew.start()
    return crew


@pytest.mark.parametrize("n_threads", [1, 2, 4])
@pytest.mark.parametrize("n_items", [0, 1, 3, 50])
def test_results_are_in_the_order_of_the_items(n_threads: int, n_items: int) -> None:
    assert crew_of(n_threads).map(lambda n: n * n, range(n_items)) == [n * n for n in range(n_items)]


def test_its_threads_work_side_by_side_and_the_calling_one_is_among_them() -> None:
    barrier = threading.Barrier(3, timeout=20)

    def meet(n: int) -> int:
        barrier.wait()
        return threading.get_ident()

    assert len(set(crew_of(3).map(meet, range(3))) | {threading.get_ident()}) == 3


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_its_threads_are_the_same_all_the_time(n_threads: int) -> None:
    before = set(threading.enumerate())
    crew = crew_of(n_threads)
    own = set(threading.enumerate()) - before
    assert len(own) == n_threads - 1
    for n_items in (1, 100, 2):
        crew.map(str, range(n_items))
        assert all(thread.is_alive() for thread in own)
        assert set(threading.enumerate()) <= before | own


def test_an_error_comes_back_to_the_caller_after_all_work_has_ended() -> None:
    crew = crew_of(2)
    done: list[int] = []

    def fail(n: int) -> None:
        if n == 3:
            raise ValueError("three")
        done.append(n)

    with pytest.raises(ValueError, match="three"):
        crew.map(fail, range(6))
    assert sorted(done) == [0, 1, 2, 4, 5]
    assert crew.map(str, [1, 2]) == ["1", "2"]


def test_the_threads_end_with_the_crew() -> None:
    before = set(threading.enumerate())
    crew = crew_of(3)
    own = set(threading.enumerate()) - before
    assert crew.map(str, range(9))
    del crew
    gc.collect()
    for thread in own:
        thread.join(20.0)
    assert not any(thread.is_alive() for thread in own)
