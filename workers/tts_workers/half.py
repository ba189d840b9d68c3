"""The `tts-workers` process: supervisor and dispatcher in one poll loop, on one thread.

Signal handlers set a flag and nothing else. The loop holds no model and serves no HTTP.
"""

from __future__ import annotations

import logging
import os
import secrets
import signal
import time
from collections.abc import Callable
from types import FrameType

import zmq

from tts_service import __version__
from tts_service.errors import CannotStart, ExitCode
from tts_service.notify import Notifier
from tts_service.protocol import (
    PROTOCOL_VERSION,
    Done,
    Drain,
    FromWorker,
    Hello,
    Metrics,
    MetricsQuery,
    PhaseChange,
    PoolStatus,
    Ready,
    RequestReport,
    Status,
    StatusQuery,
    Stop,
    ToWorker,
    WorkerHello,
    WorkerStatus,
)
from tts_service.room import check_room, workers_needs
from tts_service.runtime_dir import RuntimeDir
from tts_service.settings import Settings
from tts_service.versions import InstalledVersion
from tts_workers.child import Child
from tts_workers.closed_mark import ClosedMark
from tts_workers.dispatcher import Dispatcher
from tts_workers.metrics import ServiceMetrics
from tts_workers.plan import make_plan
from tts_workers.progress import Progress
from tts_workers.reload import Reloader
from tts_workers.status import PssGauge, worker_status
from tts_workers.supervisor import Supervisor
from tts_workers.switchboard import Switchboard
from tts_workers.sysfs import read_machine

logger = logging.getLogger(__name__)

# How often the loop looks at its children and gateways when nothing happens.
TICK_S = 1.0
# Signals this close together count as one.
SAME_SIGNAL_S = 0.5


class WorkersHalf:
    """Everything below the gateways on one machine."""

    def __init__(
        self, settings: Settings, runtime_dir: RuntimeDir, reread: Callable[[], Settings], notifier: Notifier
    ) -> None:
        self.settings = settings
        self.notifier = notifier
        self._reread = reread
        self.runtime_dir = runtime_dir
        self._stop_requested = 0
        self._stop_by_s = 0.0
        self._signalled_s = 0.0
        self._pss = PssGauge()
        self._last_look_s = 0.0
        self._was_warm = False
        self._exit_code = ExitCode.OK
        self._version = InstalledVersion()
        self._closed_mark = ClosedMark(runtime_dir.path)

    def start(self) -> None:
        """Take the runtime directory, bind the sockets and start every worker. CannotStart where that is impossible."""
        self.runtime_dir.prepare()
        self.runtime_dir.lock("workers")
        plan = make_plan(self.settings, self.runtime_dir, read_machine(set(os.sched_getaffinity(0))))
        check_room(workers_needs([spec.n_threads for spec in plan.specs]))
        self._poller = zmq.Poller()
        self.board = Switchboard(self.runtime_dir, self._gateway_unreachable)
        self.supervisor = Supervisor(plan.specs, self.settings.workers, self._poller)
        self.metrics = ServiceMetrics(self._scene, lambda: self.dispatcher.caches())
        self.dispatcher = Dispatcher(
            plan.pools, secrets.token_hex(8), self.board.to_gateway, self._to_worker, self.metrics.waited
        )
        self.reloader = Reloader(self.settings, self._reread, self.supervisor, self.dispatcher)
        self.progress = Progress(self.settings.workers)
        self.dispatcher.closed = self._closed_mark.is_set()
        self.board.open()
        self._wake = _wake_on_signals(self._note_signal)
        for source in (self.board.gateways, self.board.workers, self._wake):
            self._poller.register(source, zmq.POLLIN)
        self.supervisor.start_dead(time.monotonic())

    def run(self) -> int:
        """Serve until told to stop and drained; return the exit code."""
        while not self._finished():
            events = self._wait()
            now = time.monotonic()
            self._receive_from_workers(now)
            self._receive_from_gateways(now)
            if self.supervisor.has_news(events):
                self._reap(now)
            self._reload_if_told(now)
            self._look(now)
            self._restart_dead(now)
            self._drain_if_told(now)
        self._shut_down()
        return self._exit_code

    def _wait(self) -> dict[object, int]:
        now = time.monotonic()
        wake_s = self._last_look_s + TICK_S
        wake_s = min(wake_s, now + 0.1 if self._stop_requested else self.supervisor.next_start_s(wake_s))
        events = dict(self._poller.poll(int(max(0.0, wake_s - now) * 1000) + 1))
        if self._wake in events:
            os.read(self._wake, 1024)
        return events

    def _receive_from_workers(self, now: float) -> None:
        for identity, message, samples in self.board.from_workers():
            child = self.supervisor.child_of(identity)
            if child is not None:
                child.heard(now, message.phase if isinstance(message, PhaseChange) else None)
                self.dispatcher.on_worker(child.spec.index, message, samples, now)
                self._check_worker(child, message)

    def _check_worker(self, child: Child, message: FromWorker) -> None:
        if isinstance(message, Done):
            child.finished_a_segment = True
        elif isinstance(message, WorkerHello) and (message.protocol, message.package) != (
            PROTOCOL_VERSION,
            __version__,
        ):
            # The package was replaced on disk while this process ran: only a restart can mend that.
            child.kill(f"it is version {message.package}, this process is {__version__}", "version")
            self._stop(ExitCode.STALE_VERSION)
        elif isinstance(message, Ready):
            self._check_total_memory(child)
            if self._was_warm:
                self.supervisor.start_wide(time.monotonic())

    def _check_total_memory(self, child: Child) -> None:
        """Refuse to go into service with more than the limit; later growth is for the limit of each worker."""
        if self._was_warm:
            self._check_room_for_wide(child)
            return
        self._was_warm = self.dispatcher.catalogue().warm
        limit_mib = self.settings.workers.memory_total_mib
        total_mib = self.supervisor.total_rss_mib()
        if limit_mib and total_mib > limit_mib:
            logger.error("the workers need %.0f MiB, workers.memory_total_mib is %d: use fewer", total_mib, limit_mib)
            self._stop(ExitCode.CANNOT_START)
        elif self._was_warm:
            self.notifier.ready()
            self.notifier.status(f"{self.supervisor.n_ordinary} workers, all have been warm")

    def _check_room_for_wide(self, child: Child) -> None:
        """Do without a wide worker that has no room in the memory for all."""
        limit_mib = self.settings.workers.memory_total_mib
        if not limit_mib or not child.spec.wide or (total_mib := self.supervisor.total_rss_mib()) <= limit_mib:
            return
        child.left_out = True
        child.kill(f"with it all need {total_mib:.0f} MiB, workers.memory_total_mib is {limit_mib}", "memory")

    def _receive_from_gateways(self, now: float) -> None:
        for identity, message in self.board.from_gateways():
            if isinstance(message, StatusQuery):
                pools, workers = self._scene()
                status = Status(
                    query=message.query,
                    incarnation=self.dispatcher.incarnation,
                    pid=os.getpid(),
                    pools=pools,
                    workers=workers,
                    closed=self.dispatcher.closed,
                    n_requests=self.dispatcher.n_requests,
                    reloading=self.reloader.is_busy,
                    n_reloads=self.reloader.n_ended,
                    reload_failure=self.reloader.failure,
                )
                self.board.to_gateway(identity, status, None)
            elif isinstance(message, MetricsQuery):
                self.board.to_gateway(identity, Metrics(message.query, self.metrics.text()), None)
            elif isinstance(message, RequestReport):
                self.metrics.answered(message)
            else:
                self.dispatcher.on_gateway(identity, message, now)
            if isinstance(message, Drain):
                self._closed_mark.keep(closed=self.dispatcher.closed)
            if isinstance(message, Hello) and message.package != __version__ and self._version.is_stale():
                logger.error("this half has been replaced on disk: ending, to be started again")
                self._stop(ExitCode.STALE_VERSION)

    def _reap(self, now: float) -> None:
        for child, reason in self.supervisor.reap(now, logging.INFO if self._stop_requested else logging.WARNING):
            self.dispatcher.worker_gone(child.spec.index, reason, killed=child.was_killed_by_others)
            if child.exit_status == ExitCode.ENGINE_BROKEN and self.dispatcher.pools[child.spec.pool].engine is None:
                logger.error("pool %s: its engine cannot be loaded", child.spec.pool)
                self._stop(ExitCode.ENGINE_BROKEN)

    def _look(self, now: float) -> None:
        if now - self._last_look_s < TICK_S:
            return
        self._last_look_s = now
        self.supervisor.look(now, self.dispatcher)
        # Estimates change with every segment; gateways need not hear of each.
        self.dispatcher.announce()
        if self.progress.is_made(self.dispatcher, now):
            self.notifier.feed(now)
        for identity in self.dispatcher.silent_gateways(now, self.settings.workers.gateway_timeout_s):
            self.dispatcher.gateway_gone(identity, "silent")

    def _restart_dead(self, now: float) -> None:
        if not self._stop_requested:
            self.supervisor.start_dead(now)

    def _reload_if_told(self, now: float) -> None:
        if not self._stop_requested:
            self.reloader.advance(now)
            self.settings = self.reloader.settings

    def _stop(self, exit_code: ExitCode) -> None:
        """Leave as after a SIGTERM, with this exit code."""
        self._exit_code = exit_code
        self._stop_requested = max(1, self._stop_requested)

    def _drain_if_told(self, now: float) -> None:
        if self._stop_requested and not self.dispatcher.draining:
            self.notifier.stopping()
            logger.info("stopping: %d segments in progress", self.dispatcher.n_running)
            self._stop_by_s = now + self.settings.workers.drain_timeout_s
            self.dispatcher.drain()

    def _finished(self) -> bool:
        """True when the half has been told to stop and nothing is in progress, or nobody waits for it any longer."""
        if not self.dispatcher.draining:
            return False
        return self.dispatcher.n_running == 0 or time.monotonic() > self._stop_by_s or self._stop_requested > 1

    def _shut_down(self) -> None:
        self.supervisor.stop(lambda index: self._to_worker(index, Stop()), lambda: list(self.board.from_workers()))
        self.board.close()
        self.runtime_dir.unlock()
        logger.info("stopped")

    def _note_signal(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self.reloader.request()
            return
        # A service manager may signal every process of the group, and a parent its children: that is one request.
        now = time.monotonic()
        if not self._stop_requested or now - self._signalled_s > SAME_SIGNAL_S:
            self._stop_requested += 1
        self._signalled_s = now

    def _gateway_unreachable(self, identity: bytes) -> None:
        self.dispatcher.gateway_gone(identity, "unreachable")

    def _to_worker(self, index: int, message: ToWorker) -> None:
        self.board.to_worker(self.supervisor.children[index].spec.identity, message)

    def _scene(self) -> tuple[list[PoolStatus], list[WorkerStatus]]:
        """Return pools and workers as they are now."""
        now = time.monotonic()
        stopping = bool(self._stop_requested)
        links = self.dispatcher.workers
        pools = [pool.status(now) for pool in self.dispatcher.pools.values()]
        return pools, [
            worker_status(child, links[child.spec.index], self._pss.bytes_of(child.pid, now), stopping=stopping)
            for child in self.supervisor.children
        ]


def _wake_on_signals(handler: Callable[[int, FrameType | None], None]) -> int:
    """Make SIGTERM, SIGINT and SIGHUP call `handler` and end a poll; return the descriptor to poll."""
    reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, handler)
    return reader


def run(settings: Settings, runtime_dir: RuntimeDir, reread: Callable[[], Settings]) -> int:
    """Run the half; return its exit code. `reread` returns the settings as they are when it is told to reload."""
    half = WorkersHalf(settings, runtime_dir, reread, Notifier.from_environment(os.environ))
    try:
        half.start()
    except zmq.ZMQError as error:
        raise CannotStart(f"cannot bind the sockets in {runtime_dir.path}: {error}") from error
    return half.run()
