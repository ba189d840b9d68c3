"""Replaces the workers one by one while the others serve. Never blocks; half.py's loop calls it on its one thread."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from tts_workers.child import Child
from tts_workers.dispatcher import Dispatcher
from tts_workers.pool import Pool
from tts_workers.spec import WorkerSpec

logger = logging.getLogger(__name__)

# Between two segments of a request its model has no job for a moment.
QUIET_S = 1.0


class Roll:
    """One pass over all workers. Ends early, with `failure` set, where a successor does not come up."""

    def __init__(
        self, specs: Sequence[WorkerSpec], children: Sequence[Child], dispatcher: Dispatcher, patience_s: float
    ) -> None:
        self.failure = ""
        self.touched: set[int] = set()
        """Workers that have been told to go."""
        self._specs = {spec.index: spec for spec in specs}
        self._children = {child.spec.index: child for child in children}
        self._dispatcher = dispatcher
        self._patience_s = patience_s
        self._present: Child | None = None
        self._life = 0
        """The incarnation of `_present` that is to end."""
        self._due = set(self._specs)
        self._quiet_since_s: dict[str, float] = {}
        self._patient_until_s: dict[str, float] = {}

    def advance(self, now: float) -> bool:
        """Do what can be done now; return True when the roll is over."""
        if self._present is not None and not self._is_replaced(self._present):
            return bool(self.failure)
        self._present = None
        if not self._due:
            return True
        child = self._next(now)
        if child is not None:
            self._replace(child)
        return False

    def _is_replaced(self, child: Child) -> bool:
        """True once the successor is warm. Sets `failure` where it has ended before that."""
        born = child.spec.incarnation > self._life
        # The supervisor may have started yet another one already.
        if (born and not child.pid) or child.spec.incarnation > self._life + 1:
            self.failure = f"the new worker {child.spec.index} ended before it was warm: {child.last_exit}"
            return False
        return born and child.is_ready and self._dispatcher.workers[child.spec.index].ready is not None

    def _next(self, now: float) -> Child | None:
        """Return whose turn it is: first those that do not serve, then, while all of its pool do, any other."""
        due = [self._children[index] for index in sorted(self._due)]
        for child in due:
            if self._dispatcher.workers[child.spec.index].ready is None:
                return child
        for child in due:
            pool = self._dispatcher.pools[child.spec.pool]
            serving = all(worker.ready is not None and not worker.retiring for worker in pool.workers)
            if serving and self._may_leave(child, pool, now):
                return child
        return None

    def _may_leave(self, child: Child, pool: Pool, now: float) -> bool:
        """False while the last worker with a model is still needed by requests that began with that model."""
        ready = self._dispatcher.workers[child.spec.index].ready
        others = [worker for worker in pool.workers if worker.index != child.spec.index]
        same = [worker for worker in others if worker.ready and ready and worker.ready.generation == ready.generation]
        if ready is None or same or not others:
            return True
        give_up_s = self._patient_until_s.setdefault(pool.name, now + self._patience_s)
        if pool.has_jobs_of(ready.generation) or pool.name not in self._quiet_since_s:
            self._quiet_since_s[pool.name] = now
        return now > give_up_s or now - self._quiet_since_s[pool.name] >= QUIET_S

    def _replace(self, child: Child) -> None:
        index = child.spec.index
        logger.info("replacing worker %d", index)
        self._due.discard(index)
        self.touched.add(index)
        self._present, self._life = child, child.spec.incarnation
        child.be_followed_by(self._specs[index])
        if self._dispatcher.workers[index].ready is not None:
            self._dispatcher.retire(index)
        else:
            child.kill("replaced before it was warm", "reload")
