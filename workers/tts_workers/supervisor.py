"""The set of synthesis processes: started, watched, compared with the plan, recycled, restarted, stopped.

Owned by the one thread of the `tts-workers` process; half.py's loop calls it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping

import zmq

from tts_service import procfs
from tts_service.settings import WorkerSettings
from tts_workers.child import Child
from tts_workers.dispatcher import Dispatcher
from tts_workers.spec import WorkerSpec
from tts_workers.verify import plan_faults

logger = logging.getLogger(__name__)

# Between Stop and SIGKILL.
STOP_GRACE_S = 3.0
_POLL_MS = 50


class Supervisor:
    """Keeps one process alive for every worker of the plan."""

    def __init__(self, specs: list[WorkerSpec], settings: WorkerSettings, poller: zmq.Poller) -> None:
        self.children = [Child(spec, settings) for spec in specs]
        self.settings = settings
        self._poller = poller

    def take_settings(self, settings: WorkerSettings) -> None:
        """Watch by other limits from now on."""
        self.settings = settings
        for child in self.children:
            child.settings = settings

    def child_of(self, identity: bytes) -> Child | None:
        """Return the child whose present life has this ZeroMQ identity; messages of earlier lives have none."""
        index = identity.partition(b".")[0]
        child = self.children[int(index)] if index.isdigit() and int(index) < len(self.children) else None
        return child if child is not None and child.pid and child.spec.identity == identity else None

    def start_dead(self, now: float) -> None:
        """Start every process that does not live and whose pause is over."""
        for child in self.children:
            if not child.pid and now >= child.start_at_s:
                child.start(now)
                # The loop hears of its end at once.
                self._poller.register(child.pidfd, zmq.POLLIN)

    def start_wide(self, now: float) -> None:
        """Let the wide workers start for the first time: all others have been warm."""
        for child in self.children:
            if child.spec.wide and not child.spec.incarnation:
                child.start_at_s = min(child.start_at_s, now)

    @property
    def n_ordinary(self) -> int:
        """Workers that are not wide."""
        return sum(not child.spec.wide for child in self.children)

    def next_start_s(self, default: float) -> float:
        """Return the monotonic time at which the next dead process is due."""
        return min((child.start_at_s for child in self.children if not child.pid), default=default)

    def has_news(self, events: Mapping[object, int]) -> bool:
        """Return True when a poll has seen the end of a process."""
        return any(child.pidfd in events for child in self.children)

    def reap(self, now: float, level: int = logging.WARNING) -> Iterator[tuple[Child, str]]:
        """Yield the children whose process has ended, and why."""
        for child in self.children:
            pid, pidfd = child.pid, child.pidfd
            reason = child.reap(now)
            if reason is not None:
                self._poller.unregister(pidfd)
                logger.log(level, "worker %d, pid %d, ended: %s", child.spec.index, pid, reason)
                yield child, reason

    def look(self, now: float, dispatcher: Dispatcher) -> None:
        """Kill what hangs, report what differs from its plan, and recycle what has grown too large."""
        for child in self.children:
            child.look(now)
            if child.pid and child.is_ready:
                ready = dispatcher.workers[child.spec.index].ready
                affinities = procfs.affinities(child.pid)
                child.n_threads_when_ready = child.n_threads_when_ready or len(affinities)
                child.report_faults(plan_faults(child.spec, ready, affinities, child.n_threads_when_ready))
                self._recycle_if_grown(child, dispatcher)

    def _recycle_if_grown(self, child: Child, dispatcher: Dispatcher) -> None:
        limit_mib = self.settings.memory_limit_mib
        if dispatcher.workers[child.spec.index].retiring:
            return
        neighbours = dispatcher.pools[child.spec.pool].workers
        # One of a pool at a time: equal load makes equal growth.
        if not limit_mib or any(worker.retiring or worker.ready is None for worker in neighbours):
            return
        rss_mib = procfs.rss_bytes(child.pid) / (1 << 20)
        if rss_mib > limit_mib:
            logger.warning(
                "worker %d has %.0f MiB, the limit is %d: no new segments for it, then a fresh process",
                child.spec.index,
                rss_mib,
                limit_mib,
            )
            child.expect_end("memory")
            dispatcher.retire(child.spec.index)

    def stop(self, tell: Callable[[int], None], receive: Callable[[], object]) -> None:
        """End every process: told first, killed when that takes longer than STOP_GRACE_S."""
        for child in self.children:
            if child.is_ready:
                tell(child.spec.index)
            else:
                child.interrupt()
        deadline = time.monotonic() + STOP_GRACE_S
        while self._wait_for_ends(receive) and time.monotonic() < deadline:
            pass
        for child in self.children:
            child.kill("it did not stop in time", "stop")
        while self._wait_for_ends(receive):
            pass

    def _wait_for_ends(self, receive: Callable[[], object]) -> bool:
        """Wait a little; return True while any process lives."""
        self._poller.poll(_POLL_MS)
        receive()
        for _ in self.reap(time.monotonic(), logging.INFO):
            pass
        return any(child.pid for child in self.children)

    def total_rss_mib(self) -> float:
        """Return the memory of all processes now; shared pages count once for each."""
        return sum(procfs.rss_bytes(child.pid) for child in self.children if child.pid) / (1 << 20)
