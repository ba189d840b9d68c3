"""The queue of one pool."""

from __future__ import annotations

from support.pools import job
from tts_service.protocol import JobKey
from tts_workers.jobqueue import JobQueue, Waiting


def waiting(name: str, gateway: bytes = b"g", since_s: float = 0.0) -> Waiting:
    return Waiting(job(request_id=name), gateway, since_s)


def key(name: str) -> JobKey:
    return job(request_id=name).key


def names(found: list[Waiting]) -> list[str]:
    return [one.job.key.request_id for one in found]


def filled(*entries: Waiting, limit: int = 10) -> JobQueue:
    queue = JobQueue(limit)
    for entry in entries:
        queue.add(entry)
    return queue


def test_jobs_come_out_in_the_order_in_which_they_came() -> None:
    queue = filled(waiting("a"), waiting("b"), waiting("c"))
    taken = [queue.take() for _ in range(4)]
    assert [one and one.job.key.request_id for one in taken] == ["a", "b", "c", None]


def test_it_is_full_at_its_limit_and_still_takes_what_has_to_come_in() -> None:
    queue = filled(waiting("a"), limit=2)
    assert not queue.is_full
    queue.add(waiting("b"))
    assert queue.is_full
    queue.add(waiting("c"))
    assert (queue.is_full, len(queue)) == (True, 3)


def test_a_job_is_removed_once_and_only_for_the_gateway_that_sent_it() -> None:
    queue = filled(waiting("a", b"g1"), waiting("b", b"g1"))
    assert queue.remove(key("a"), b"g2") is None
    assert queue.remove(key("c"), b"g1") is None
    assert queue.remove(key("a"), b"g1") == waiting("a", b"g1")
    assert queue.remove(key("a"), b"g1") is None
    assert names(list(queue.remove_all())) == ["b"]


def test_another_attempt_is_another_job() -> None:
    queue = filled(Waiting(job(attempt=2), b"g", 0.0))
    assert queue.remove(job(attempt=1).key, b"g") is None
    assert len(queue) == 1


def test_all_jobs_of_a_gateway_go_together_and_the_others_keep_their_order() -> None:
    queue = filled(waiting("a", b"1"), waiting("b", b"2"), waiting("c", b"1"), waiting("d", b"2"))
    assert names(queue.remove_of(b"1")) == ["a", "c"]
    assert queue.remove_of(b"1") == []
    assert names(list(queue.remove_all())) == ["b", "d"]


def test_removing_all_survives_a_change_while_it_goes_on() -> None:
    queue = filled(waiting("a", b"1"), waiting("b", b"2"), waiting("c", b"1"))
    seen = []
    for one in queue.remove_all():
        seen.append(one)
        # What happens when a gateway turns out to be unreachable while it is being told.
        queue.remove_of(b"2")
    assert names(seen) == ["a", "c"]
    assert len(queue) == 0


def test_the_age_of_the_queue_is_that_of_its_first_job() -> None:
    queue = filled(waiting("a", since_s=3.0), waiting("b", since_s=5.0))
    assert queue.oldest_s(10.0) == 7.0
    queue.take()
    assert queue.oldest_s(10.0) == 5.0
    queue.take()
    assert queue.oldest_s(10.0) == 0.0
