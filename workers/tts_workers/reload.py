"""New settings and voices for a workers' half that runs: read again, compared, taken by rolling the workers one by one.

Owned by the one thread of the `tts-workers` process; half.py's loop calls it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from tts_service.errors import ProcessMustEnd, SettingsError
from tts_service.settings import PoolSettings, Settings
from tts_workers.dispatcher import Dispatcher
from tts_workers.plan import check_engine, pool_of
from tts_workers.pool import Pool
from tts_workers.roll import Roll
from tts_workers.spec import WorkerSpec
from tts_workers.supervisor import Supervisor

logger = logging.getLogger(__name__)

# The plan rests on these: workers cannot change them one by one.
_FIXED = {
    "workers": ("cpus", "reserve_cpus"),
    "pools": ("engine", "workers", "threads", "wide", "weight", "slots", "order"),
}


class Reloader:
    """Turns requests to reload into rolls, one at a time."""

    def __init__(
        self, settings: Settings, reread: Callable[[], Settings], supervisor: Supervisor, dispatcher: Dispatcher
    ) -> None:
        self.settings = settings
        self.n_ended = 0
        """Reloads that are over, well or not."""
        self.failure = ""
        """Why the last one was not done; "" where it was."""
        self._reread = reread
        self._supervisor = supervisor
        self._dispatcher = dispatcher
        self._requested = False
        self._roll: Roll | None = None
        self._before = settings
        self._back = False

    @property
    def is_busy(self) -> bool:
        """True from a request until its end."""
        return self._requested or self._roll is not None

    def request(self) -> None:
        """Ask for a reload. Safe in a signal handler; one that comes during a roll follows it."""
        self._requested = True

    def advance(self, now: float) -> None:
        """Begin what is asked for, or go on with what is under way. Never blocks."""
        if self._roll is None and self._requested:
            self._requested = False
            self._begin()
        if self._roll is not None and self._roll.advance(now):
            self._ended(self._roll)

    def _begin(self) -> None:
        try:
            settings = self._reread()
            check_reloadable(self.settings, settings)
        except ProcessMustEnd as error:
            self._end(f"not reloaded, everything goes on as before: {error}")
            return
        self.failure, self._before = "", self.settings
        logger.info("reloading: replacing %d workers one by one", len(self._supervisor.children))
        self._take(settings, {child.spec.index for child in self._supervisor.children if not child.left_out})

    def _take(self, settings: Settings, indices: set[int]) -> None:
        self.settings = settings
        logging.getLogger().setLevel(settings.service.log_level.upper())
        self._supervisor.take_settings(settings.workers)
        for name, pool in self._dispatcher.pools.items():
            take_pool_settings(pool, settings.pools[name])
        specs = [_successor(child.spec, settings) for child in self._supervisor.children if child.spec.index in indices]
        self._roll = Roll(specs, self._supervisor.children, self._dispatcher, settings.workers.drain_timeout_s)

    def _ended(self, roll: Roll) -> None:
        failure, self._roll = roll.failure, None
        if self._back:
            self._back = False
            self._end(self.failure)
        elif failure:
            self.failure = f"not reloaded, going back to what was before: {failure}"
            logger.error("%s", self.failure)
            self._back = True
            self._take(self._before, roll.touched)
        else:
            logger.info("reloaded")
            self._end("")

    def _end(self, failure: str) -> None:
        if failure and failure != self.failure:
            logger.error("%s", failure)
        self.failure = failure
        self.n_ended += 1


def check_reloadable(old: Settings, new: Settings) -> None:
    """Raise SettingsError where `new` differs from `old` in what only a restart can change, or cannot work."""
    if list(old.pools) != list(new.pools):
        raise SettingsError(f"pools = {list(new.pools)}: expected {list(old.pools)}; new pools need a restart")
    for key in _FIXED["workers"]:
        _check_equal(f"workers.{key}", getattr(old.workers, key), getattr(new.workers, key))
    for name, pool in new.pools.items():
        for key in _FIXED["pools"]:
            _check_equal(f"pools.{name}.{key}", getattr(old.pools[name], key), getattr(pool, key))
        check_engine(name, pool)


def _check_equal(key: str, old: object, new: object) -> None:
    if old != new:
        raise SettingsError(f"{key} = {new!r}: expected {old!r}; another value needs a restart")


def take_pool_settings(pool: Pool, settings: PoolSettings) -> None:
    """Give a pool that runs what can change in it."""
    fresh = pool_of(pool.name, settings)
    pool.default_voice, pool.default_seed = fresh.default_voice, fresh.default_seed
    pool.urgent_s, pool.max_wait_s = fresh.urgent_s, fresh.max_wait_s
    pool.queue.limit = fresh.queue.limit


def _successor(spec: WorkerSpec, settings: Settings) -> WorkerSpec:
    """Return what the next life of a worker is to be: the same place, with what the settings say now."""
    pool = settings.pools[spec.pool]
    return msgspec.structs.replace(
        spec,
        models=pool.models,
        options=pool.options,
        heartbeat_s=settings.workers.heartbeat_s,
        log_level=settings.service.log_level,
    )
