"""The scheduler as a whole, by simulation: thousands of requests in seconds, no socket and no clock of its own."""

from __future__ import annotations

import random
import statistics

import pytest

from support.simulation import AUDIO_PER_STEP_S, CHAR_S, STEP_S, Request, Simulation
from tts_workers.jobqueue import Order

N_WORKERS = 2
# Audio seconds a second that the simulated pool makes.
CAPACITY = N_WORKERS * AUDIO_PER_STEP_S / STEP_S
# What a sentence takes.
MEAN_WORK_S = 70 * CHAR_S / AUDIO_PER_STEP_S * STEP_S


def one_liners(load: float, seconds: float, seed: int = 1, client: str = "caller") -> list[Request]:
    """Return single sentences that arrive at random, at this share of the pool's capacity."""
    draws = random.Random(seed)
    requests, now = [], 0.0
    while now < seconds:
        chars = draws.randint(20, 120)
        requests.append(Request(f"{client}{len(requests)}", now, [chars], client=client))
        now += draws.expovariate(load * CAPACITY / (70 * CHAR_S))
    return requests


def book(n_sentences: int, streamed: bool = False) -> Request:
    """Return one long text that is there from the start."""
    return Request("book", 0.0, [80 + n % 40 for n in range(n_sentences)], streamed=streamed, client="reader", ahead=6)


def first_audio(order: Order, *, with_book: bool, load: float = 0.8) -> tuple[list[Request], float]:
    """Serve a minute of one-liners; return them and the 95th percentile of their time to first audio."""
    requests = one_liners(load, 60)
    Simulation(N_WORKERS, order=order).run([*requests, *([book(500)] if with_book else [])])
    return requests, statistics.quantiles([request.latency_s for request in requests], n=20)[18]


def test_a_book_does_not_delay_one_liners() -> None:
    requests, with_book = first_audio("deadline", with_book=True)
    _, alone = first_audio("deadline", with_book=False)
    _, fifo_requests = first_audio("requests", with_book=True)
    _, fifo_segments = first_audio("segments", with_book=True)
    assert fifo_requests > 3 * with_book
    assert fifo_segments > with_book
    # A newcomer waits for a step that is under way, never for a far-away segment.
    assert with_book < alone + 4 * STEP_S
    assert sum(request.underruns() for request in requests) == 0


def test_a_stream_never_runs_dry_while_there_is_capacity() -> None:
    requests = one_liners(0.6, 40)
    streams = [Request(f"stream{n}", n * 0.7, [60 + 5 * m for m in range(12)], client=f"s{n}") for n in range(4)]
    Simulation(N_WORKERS).run([*requests, *streams, book(200)])
    assert sum(stream.underruns() for stream in streams) == 0


def test_batch_work_is_finished_too() -> None:
    long = book(200)
    Simulation(N_WORKERS).run([*one_liners(0.5, 60), long])
    assert len(long.done_s) == 200


@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_one_long_text_uses_all_workers(n_workers: int) -> None:
    long = book(60)
    Simulation(n_workers).run([long])
    audio_s = sum(long.chars) * CHAR_S
    alone_s = audio_s / AUDIO_PER_STEP_S * STEP_S
    assert max(long.done_s.values()) < 1.25 * alone_s / n_workers


def test_segments_of_a_text_come_in_text_order_as_far_as_workers_allow() -> None:
    long = book(60)
    Simulation(1).run([long])
    assert list(long.done_s) == sorted(long.done_s)


def test_a_burst_of_one_client_does_not_starve_another() -> None:
    burst = [Request(f"burst{n}", 0.0, [80], client="greedy") for n in range(300)]
    modest = [Request(f"modest{n}", 0.2 + 0.5 * n, [80], client="modest") for n in range(10)]
    Simulation(N_WORKERS).run([*burst, *modest])
    slowest_modest = max(request.latency_s for request in modest)
    assert slowest_modest < 0.1 * max(request.latency_s for request in burst)
    assert len({request.name for request in burst if request.done_s}) == 300


def test_thousands_of_requests_are_all_served_whatever_the_order() -> None:
    for order in ("deadline", "segments", "requests"):
        requests = one_liners(0.9, 240, seed=3)
        assert len(requests) > 1000
        simulation = Simulation(N_WORKERS, order=order)  # type: ignore[arg-type]
        simulation.run(requests)
        assert all(len(request.done_s) == len(request.chars) for request in requests)
        assert len(simulation.pool.queue) == 0
        assert all(worker.credits == worker.n_slots for worker in simulation.pool.workers)


@pytest.mark.parametrize("n_workers", [1, 2, 6])
@pytest.mark.parametrize("max_wait_s", [0.3, 2.0])
def test_what_is_admitted_over_capacity_waits_no_longer_than_was_said(n_workers: int, max_wait_s: float) -> None:
    requests = one_liners(3.0 * n_workers / N_WORKERS, 60)
    Simulation(n_workers, max_wait_s=max_wait_s).run(requests)
    admitted = [request for request in requests if not request.refused]
    chars = sum(sum(request.chars) for request in admitted)
    offered = sum(sum(request.chars) for request in requests)
    # No more is refused than has to be.
    assert 0.25 < chars / offered < 0.4
    latencies = sorted(request.latency_s for request in admitted)
    # Segments stay in their slots: a worker with long ones must not get the next one before a worker with short ones.
    assert latencies[int(0.95 * len(latencies))] < 1.2 * max_wait_s + STEP_S
    assert latencies[-1] < max_wait_s + 2 * MEAN_WORK_S
