"""A pool's bookkeeping: credits, who runs what, what gateways are told."""

from __future__ import annotations

import pytest

from support.pools import PACE, engine, job
from tts_service.protocol import Ready, Runtime, WorkerStats
from tts_workers.jobqueue import JobQueue, Waiting
from tts_workers.link import WorkerLink
from tts_workers.pool import Pool


def ready(generation: str = "g1", **changes: object) -> Ready:
    return Ready(engine(**changes), generation, [0], 1, Runtime(1, spinning=False), PACE)


def pool_of(*credits: int) -> Pool:
    """Return a pool whose warm workers have these numbers of free slots."""
    workers = [WorkerLink(index, "default", 4, credits=n) for index, n in enumerate(credits)]
    pool = Pool("default", "", 0, JobQueue(100), workers=workers)
    for worker in workers:
        pool.came_up(worker, ready())
    return pool


def enqueue(pool: Pool, *names: str, since_s: float = 0.0) -> None:
    for name in names:
        pool.queue.add(Waiting(job(request_id=name), b"gateway", since_s))


def test_the_least_loaded_worker_gets_the_next_job() -> None:
    pool = pool_of(1, 3, 2)
    enqueue(pool, *"abcdef")
    got = []
    while (assignment := pool.next_assignment(0.0)) is not None:
        worker, _ = assignment
        got.append(worker.index)
        assert worker.credits >= 0
    # 1 until it is level with 2, then all in turn.
    assert got[:1] == [1]
    assert sorted(got) == [0, 1, 1, 1, 2, 2]
    assert [worker.credits for worker in pool.workers] == [0, 0, 0]
    assert pool.next_assignment(0.0) is None


def test_nothing_is_assigned_without_a_job_or_without_a_credit() -> None:
    pool = pool_of(0, 0)
    enqueue(pool, "a")
    assert pool.next_assignment(0.0) is None
    assert len(pool.queue) == 1
    pool.workers[1].credits = 1
    assert pool.next_assignment(0.0) is not None
    assert pool.next_assignment(0.0) is None
    assert Pool("empty", "", 0, JobQueue(1)).next_assignment(0.0) is None


def test_an_assigned_job_is_found_at_its_worker_with_the_time_it_waited() -> None:
    pool = pool_of(1)
    enqueue(pool, "a", since_s=2.0)
    assert pool.next_assignment(5.0) is not None
    worker = pool.workers[0]
    key = job(request_id="a").key
    assert pool.find(key, b"gateway") is worker
    assert pool.find(key, b"another gateway") is None
    assert pool.find(job(request_id="b").key, b"gateway") is None
    assert worker.jobs[key].queue_s == 3.0


def test_a_dead_workers_jobs_are_returned_once_and_its_credits_are_void() -> None:
    pool = pool_of(2, 1)
    enqueue(pool, "a", "b")
    for _ in range(2):
        pool.next_assignment(0.0)
    dead = pool.workers[0]
    n_lost = len(dead.jobs)
    dead.stats = WorkerStats(segments_done=3, steps=7, audio_seconds=2.0)
    assert len(pool.went_down(dead)) == n_lost > 0
    assert pool.went_down(dead) == []
    assert (dead.credits, dead.ready, dead.was_ready, dead.stats) == (0, None, True, WorkerStats())
    assert (dead.past.segments_done, dead.past.steps, dead.past.audio_seconds) == (3, 7, 2.0)


def test_a_retiring_worker_gets_nothing_more() -> None:
    pool = pool_of(3, 1)
    pool.workers[0].retiring = True
    enqueue(pool, "a", "b")
    assignment = pool.next_assignment(0.0)
    assert assignment is not None
    assert assignment[0].index == 1
    assert pool.next_assignment(0.0) is None
    pool.went_down(pool.workers[0])
    assert not pool.workers[0].retiring


def test_a_pool_is_unknown_until_its_engine_has_been_loaded_once() -> None:
    pool = Pool("default", "", -1, JobQueue(10), workers=[WorkerLink(0, "default", 2), WorkerLink(1, "default", 2)])
    assert pool.info() is None
    pool.came_up(pool.workers[1], ready("g7", default_voice="bert"))
    info = pool.info()
    assert info is not None
    assert (info.generation, info.default_voice, info.default_seed) == ("g7", "bert", -1)
    assert (info.n_workers, info.n_ready, info.n_slots) == (2, 1, 4)
    pool.went_down(pool.workers[1])
    info = pool.info()
    assert info is not None
    assert (info.generation, info.n_ready) == ("g7", 0)


def test_the_settings_default_voice_goes_before_the_engines() -> None:
    pool = Pool("default", "anna", 0, JobQueue(10), workers=[WorkerLink(0, "default", 2)])
    pool.came_up(pool.workers[0], ready(default_voice="bert"))
    info = pool.info()
    assert info is not None
    assert info.default_voice == "anna"


def test_a_worker_that_comes_up_with_another_model_changes_the_generation() -> None:
    pool = pool_of(1, 1)
    pool.came_up(pool.workers[0], ready("g2"))
    assert pool.generation == "g2"


def slow(pool: Pool) -> None:
    """Let the pool learn that six characters, the text of a made-up job, take two seconds."""
    for _ in range(200):
        pool.estimate.learn(n_chars=6, work_s=2.0, audio_s=0.4)


def test_the_expected_wait_follows_what_is_due_before_the_pace_and_the_warm_workers() -> None:
    pool = pool_of(0, 0)
    newcomer = job(request_id="new", deadline_s=10.0)
    assert pool.wait_s(newcomer, 0.0) == 0.0
    slow(pool)
    enqueue(pool, *map(str, range(10)))
    assert pool.wait_s(newcomer, 0.0) == pytest.approx(10.0, rel=0.01)
    assert pool.wait_s(job(deadline_s=0.5), 0.0) == 0.0, "what is due later does not count"
    pool.went_down(pool.workers[0])
    assert pool.wait_s(newcomer, 0.0) == pytest.approx(20.0, rel=0.01)
    pool.went_down(pool.workers[1])
    assert pool.wait_s(newcomer, 0.0) == pytest.approx(20.0, rel=0.01)


def test_a_client_beyond_its_share_is_told_the_wait_behind_all_that_it_has_asked_for() -> None:
    pool = pool_of(0)
    slow(pool)
    for n in range(10):
        pool.add(Waiting(job(request_id=f"greedy{n}", client="greedy", deadline_s=1.0), b"gateway", 0.0))
    # Ten jobs of two seconds. They are due one after the other, and the next one of their client behind them.
    assert pool.wait_s(job(client="greedy", deadline_s=1.0), 0.0) == pytest.approx(20.0, rel=0.01)
    assert pool.wait_s(job(client="modest", deadline_s=1.0), 0.0) == pytest.approx(2.0, rel=0.01)


@pytest.mark.parametrize(("stepping", "wait_s"), [("turns", 0.0), ("batched", 4.0)])
def test_what_runs_and_is_due_later_delays_a_newcomer_only_where_all_slots_step_together(
    stepping: str, wait_s: float
) -> None:
    pool = pool_of(3)
    pool.came_up(pool.workers[0], ready(stepping=stepping))
    slow(pool)
    for n in range(2):
        pool.add(Waiting(job(request_id=f"book{n}", deadline_s=500.0), b"gateway", 0.0))
        assert pool.next_assignment(0.0) is not None
    assert pool.wait_s(job(deadline_s=1.0), 0.0) == pytest.approx(wait_s, rel=0.01)
    assert pool.wait_s(job(deadline_s=600.0), 0.0) == pytest.approx(4.0, rel=0.01)


def test_a_segment_in_a_slot_counts_for_as_much_as_is_still_to_be_made_of_it() -> None:
    pool = pool_of(3)
    pool.came_up(pool.workers[0], ready())
    slow(pool)
    assert pool.engine is not None
    whole = round(0.4 * pool.engine.sample_rate_hz)
    for n in range(2):
        pool.add(Waiting(job(request_id=f"{n}"), b"gateway", 0.0))
        assert pool.next_assignment(0.0) is not None
    first = next(iter(pool.workers[0].jobs.values()))
    waits_s = []
    for n_made in (0, whole // 2, whole, 2 * whole):
        first.n_made = n_made
        waits_s.append(pool.wait_s(job(request_id="new", deadline_s=600.0), 0.0))
    # The second one's turn has not come: all of its two seconds are to be waited for.
    assert waits_s == pytest.approx([4.0, 3.0, 2.0, 2.0], rel=0.02)


def test_the_next_job_goes_to_the_worker_that_comes_to_it_first_and_not_to_that_with_most_free_slots() -> None:
    pool = pool_of(4, 4)
    slow(pool)
    texts = {"long": "Hello." * 10, "short": "Hello.", "brief": "Hello."}
    for n, (name, text) in enumerate(texts.items()):
        pool.add(Waiting(job(request_id=name, text=text, deadline_s=1.0 + n), b"gateway", 0.0))
        assert pool.next_assignment(0.0) is not None
    assert [len(worker.jobs) for worker in pool.workers] == [1, 2]
    newcomer = job(request_id="new", deadline_s=600.0)
    assert pool.wait_s(newcomer, 0.0) == pytest.approx(4.0, rel=0.01), "and not half of the 24 seconds of all"
    pool.add(Waiting(newcomer, b"gateway", 0.0))
    assignment = pool.next_assignment(0.0)
    assert assignment is not None
    assert assignment[0] is pool.workers[1]


def test_what_encoding_will_take_is_part_of_the_wait() -> None:
    pool = pool_of(1)
    slow(pool)
    for n in range(2):
        pool.add(Waiting(job(request_id=f"{n}", encoding_s=3.0), b"gateway", 0.0))
    # Two jobs of two seconds of synthesis and three of encoding, one in a slot and one in the queue.
    assert pool.next_assignment(0.0) is not None
    assert len(pool.queue) == 1
    newcomer = job(request_id="new", deadline_s=600.0)
    assert pool.wait_s(newcomer, 0.0) == pytest.approx(10.0, rel=0.01)
    (running,) = pool.workers[0].jobs.values()
    running.n_made = 1_000_000
    assert pool.wait_s(newcomer, 0.0) == pytest.approx(5.0, rel=0.01)


def test_the_last_slot_of_a_worker_is_kept_for_urgent_jobs() -> None:
    pool = pool_of(2)
    for n in range(3):
        pool.add(Waiting(job(request_id=f"book{n}", deadline_s=500.0 + n), b"gateway", 0.0))
    assert pool.next_assignment(0.0) is not None
    assert pool.next_assignment(0.0) is None, "one slot is left, and nothing is urgent"
    pool.add(Waiting(job(request_id="call", deadline_s=1.0), b"gateway", 0.0))
    assignment = pool.next_assignment(0.0)
    assert assignment is not None
    assert assignment[1].job.key.request_id == "call"
    assert pool.next_assignment(0.0) is None


def test_a_job_that_becomes_urgent_may_take_the_kept_slot() -> None:
    pool = pool_of(1)
    pool.add(Waiting(job(deadline_s=10.0), b"gateway", 0.0))
    assert pool.next_assignment(0.0) is None
    assert pool.next_assignment(9.0) is not None


def test_a_worker_with_one_slot_keeps_none() -> None:
    pool = Pool("default", "", 0, JobQueue(100), workers=[WorkerLink(0, "default", 1, credits=1)])
    pool.add(Waiting(job(deadline_s=500.0), b"gateway", 0.0))
    assert pool.next_assignment(0.0) is not None


def test_a_suspect_waits_for_a_worker_of_its_own_and_gets_no_neighbour() -> None:
    pool = pool_of(4, 4)
    for n in range(6):
        pool.add(Waiting(job(request_id=f"r{n}"), b"gateway", 0.0))
        pool.next_assignment(0.0)
    assert [len(worker.jobs) for worker in pool.workers] == [3, 3]
    pool.add(Waiting(job(request_id="suspect", attempt=2, alone=True), b"gateway", 0.0))
    pool.add(Waiting(job(request_id="later"), b"gateway", 0.0))
    first = pool.next_assignment(0.0)
    assert first is not None
    cleared = next(worker for worker in pool.workers if worker.clearing)
    assert first[0] is not cleared, "the worker that is being cleared takes nothing new"
    cleared.credits += len(cleared.jobs)
    cleared.jobs.clear()
    alone = pool.next_assignment(0.0)
    assert alone is not None
    assert alone[0] is cleared
    assert alone[1].job.key.request_id == "suspect"
    pool.add(Waiting(job(request_id="neighbour"), b"gateway", 0.0))
    assert [assignment[0] for assignment in iter(lambda: pool.next_assignment(0.0), None)] != [cleared]
    assert list(cleared.jobs) == [job(request_id="suspect", attempt=2).key]


def test_a_cancelled_suspect_clears_no_worker() -> None:
    pool = pool_of(3)
    pool.add(Waiting(job(request_id="busy"), b"gateway", 0.0))
    pool.next_assignment(0.0)
    pool.add(Waiting(job(request_id="suspect", attempt=2, alone=True), b"gateway", 0.0))
    assert pool.next_assignment(0.0) is None
    assert pool.workers[0].clearing
    assert pool.remove(job(request_id="suspect", attempt=2).key, b"gateway") is not None
    pool.add(Waiting(job(request_id="next"), b"gateway", 0.0))
    assert pool.next_assignment(0.0) is not None


def test_the_status_counts_what_waits_and_what_runs() -> None:
    pool = pool_of(1, 1)
    enqueue(pool, *"abc", since_s=1.0)
    for _ in range(2):
        pool.next_assignment(4.0)
    status = pool.status(4.5)
    assert (status.name, status.queued, status.running, status.queue_limit, status.oldest_s) == (
        "default", 1, 2, 100, 3.5,
    )  # fmt: skip
