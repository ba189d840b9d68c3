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
    removed = queue.remove(key("a"), b"g1")
    assert removed is not None
    assert removed.job == waiting("a", b"g1").job
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


def test_the_job_that_is_due_first_goes_first_and_of_equal_ones_the_earlier_text() -> None:
    queue = JobQueue(100)
    for name, segment, deadline_s in (("late", 0, 9.0), ("b", 1, 5.0), ("a", 0, 5.0), ("soon", 3, 1.0)):
        queue.add(Waiting(job(segment, request_id=name, deadline_s=deadline_s), b"g", 0.0))
    assert [found.job.key.request_id for found in queue.remove_all()] == ["soon", "a", "b", "late"]


def test_a_job_with_a_new_deadline_moves_and_is_taken_once() -> None:
    queue = JobQueue(100)
    queue.add(Waiting(job(request_id="a", deadline_s=1.0), b"g", 0.0))
    queue.add(Waiting(job(request_id="b", deadline_s=2.0), b"g", 0.0))
    queue.rekey(job(request_id="a").key, b"stranger", 9.0)
    assert queue.first() is not None
    assert queue.first().job.key.request_id == "a"  # type: ignore[union-attr]
    queue.rekey(job(request_id="a").key, b"g", 9.0)
    queue.rekey(job(request_id="gone").key, b"g", 0.0)
    assert [found.job.key.request_id for found in queue.remove_all()] == ["b", "a"]
    assert queue.take() is None


def test_the_plain_orders_go_by_arrival_of_segment_or_request() -> None:
    def order(kind: str) -> list[str]:
        queue = JobQueue(100, kind)  # type: ignore[arg-type]
        queue.add(Waiting(job(0, request_id="book", arrived_s=0.0, deadline_s=9.0), b"g", 0.0))
        queue.add(Waiting(job(0, request_id="call", arrived_s=1.0, deadline_s=2.0), b"g", 1.0))
        queue.add(Waiting(job(1, request_id="book", arrived_s=0.0, deadline_s=9.0), b"g", 2.0))
        return [found.job.key.request_id for found in queue.remove_all()]

    assert order("segments") == ["book", "call", "book"]
    assert order("requests") == ["book", "book", "call"]
    assert order("deadline") == ["call", "book", "book"]


def test_a_client_beyond_its_share_waits_behind_one_that_is_not() -> None:
    queue = JobQueue(100)
    for n in range(10):
        queue.add(Waiting(job(request_id=f"greedy{n}", client="greedy", deadline_s=1.0), b"g", 0.0), spacing_s=0.5)
    queue.add(Waiting(job(request_id="modest", client="modest", deadline_s=1.1), b"g", 0.1), spacing_s=0.5)
    taken = [found.job.key.request_id for found in queue.remove_all()]
    assert taken.index("modest") == 3, "three jobs of the greedy client are due by 1.1 s, at 0.5 s each"


def test_a_share_is_regained_with_time() -> None:
    queue = JobQueue(100)
    for n in range(10):
        queue.add(Waiting(job(request_id=f"{n}", client="a"), b"g", 0.0), spacing_s=0.5)
    assert queue.shares.charge("a", 2.0, 0.5) == 5.0
    assert queue.shares.charge("a", 60.0, 0.5) == 60.0


def test_jobs_that_left_do_not_stay_in_memory() -> None:
    queue = JobQueue(10)
    queue.add(Waiting(job(request_id="stays", deadline_s=0.0), b"g", 0.0))
    for n in range(1000):
        queue.add(Waiting(job(request_id=f"{n}", deadline_s=3600.0), b"g", 0.0))
        queue.remove(job(request_id=f"{n}").key, b"g")
    assert len(queue._heap) < 200
    assert [found.job.key.request_id for found in queue.remove_all()] == ["stays"]
