"""The watchdog's food: progress is made while every pool has a warm worker, or one can still be on its way."""

from __future__ import annotations

from support.dispatching import DispatcherWorld
from tts_service.settings import WorkerSettings
from tts_workers.progress import Progress

SETTINGS = WorkerSettings(load_timeout_s=20, warm_up_timeout_s=10, backoff_max_s=5, step_timeout_s=10)


def test_a_pool_without_a_warm_worker_for_longer_than_bringing_one_up_takes_is_no_progress() -> None:
    world = DispatcherWorld(2, 2)
    progress = Progress(SETTINGS)
    assert progress.is_made(world.dispatcher, 0.0)
    for index in (0, 1):
        world.dispatcher.worker_gone(index, "a test")
    assert progress.is_made(world.dispatcher, 100.0)
    assert progress.is_made(world.dispatcher, 145.0)
    assert not progress.is_made(world.dispatcher, 145.1)
    world.warm(1)
    assert progress.is_made(world.dispatcher, 200.0)


def test_one_pool_without_workers_is_enough() -> None:
    world = DispatcherWorld(2, 2, pools=("a", "b"))
    progress = Progress(SETTINGS)
    world.dispatcher.worker_gone(1, "a test")
    progress.is_made(world.dispatcher, 0.0)
    assert not progress.is_made(world.dispatcher, 50.0)
