"""The limit on speech requests, with threads that all come at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tts_service.errors import Code, RequestFailed
from tts_service.gateway.admission import Admission
from tts_service.gateway.budget import AudioBudget


def test_one_more_than_the_limit_is_refused_at_once_and_told_when_to_come_back() -> None:
    admission = Admission(2)
    admission.enter()
    admission.enter()
    with pytest.raises(RequestFailed, match="2 speech requests are in progress, the limit is 2") as caught:
        admission.enter()
    assert (caught.value.code, caught.value.code.status) == (Code.TOO_MANY_REQUESTS, 503)
    assert caught.value.retry_after_s > 0
    admission.leave()
    admission.enter()
    assert admission.n_inside == 2


def test_threads_that_come_together_never_exceed_the_limit_and_leave_nothing_behind() -> None:
    limit, n_threads = 5, 32
    admission = Admission(limit)
    together = threading.Barrier(n_threads)
    most = 0

    def come_and_go() -> tuple[int, int]:
        nonlocal most
        together.wait(10.0)
        admitted = refused = 0
        for _ in range(200):
            try:
                admission.enter()
            except RequestFailed:
                refused += 1
                continue
            most = max(most, admission.n_inside)
            admitted += 1
            admission.leave()
        return admitted, refused

    with ThreadPoolExecutor(n_threads) as threads:
        counts = [future.result(20.0) for future in [threads.submit(come_and_go) for _ in range(n_threads)]]
    assert sum(admitted + refused for admitted, refused in counts) == 200 * n_threads
    assert 1 <= most <= limit
    assert admission.n_inside == 0


def test_room_for_audio_is_given_until_it_is_used_up() -> None:
    budget = AudioBudget(100)
    assert budget.take(60, must=False)
    assert not budget.take(41, must=False)
    assert budget.take(40, must=False)
    budget.give(60)
    assert budget.take(60, must=False)
    assert budget.n_bytes == 100


def test_a_segment_that_its_reader_waits_for_is_let_through_whatever_the_budget() -> None:
    budget = AudioBudget(100)
    assert budget.take(500, must=True)
    assert not budget.take(1, must=False)
    budget.give(500)
    assert budget.n_bytes == 0
