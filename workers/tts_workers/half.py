"""The `tts-workers` process: supervisor and dispatcher in one poll loop, on one thread.

Signal handlers set a flag and nothing else. The loop holds no model and serves no HTTP.
"""

from __future__ import annotations

import logging
import os
import secrets
import signal
import time
from types import FrameType

import zmq

from tts_service import __version__, procfs
from tts_service.errors import CannotStart, ExitCode
from tts_service.protocol import (
    PROTOCOL_VERSION,
    Done,
    FromWorker,
    PhaseChange,
    Status,
    StatusQuery,
    Stop,
    ToGateway,
    ToWorker,
    WorkerHello,
    WorkerStatus,
)
from tts_service.runtime_dir import RuntimeDir
from tts_service.settings import Settings
from tts_workers.child import Child
from tts_workers.dispatcher import Dispatcher
from tts_workers.plan import make_plan
from tts_workers.switchboard import Switchboard

logger = logging.getLogger(__name__)

# How often the loop looks at its children and gateways when nothing happens.
TICK_S = 1.0
# After SIGTERM to a child, before SIGKILL.
STOP_GRACE_S = 3.0


class WorkersHalf:
    """Everything below the gateways on one machine."""

    def __init__(self, settings: Settings, runtime_dir: RuntimeDir) -> None:
        self.settings = settings
        self.runtime_dir = runtime_dir
        self._stop_requested = 0
        self._stop_by_s = 0.0
        self._exit_code = ExitCode.OK
        self._last_look_s = 0.0

    def start(self) -> None:
        """Take the runtime directory, bind the sockets and start every worker. CannotStart where that is impossible."""
        self.runtime_dir.prepare()
        self.runtime_dir.lock("workers")
        plan = make_plan(self.settings, self.runtime_dir, set(os.sched_getaffinity(0)))
        self.board = Switchboard(
            self.runtime_dir, lambda identity: self.dispatcher.gateway_gone(identity, "unreachable")
        )
        self.dispatcher = Dispatcher(plan.pools, secrets.token_hex(8), self._to_gateway, self._to_worker)
        self.children = [Child(spec, self.settings.workers) for spec in plan.specs]
        self.board.open()
        self._poller = zmq.Poller()
        self._poller.register(self.board.gateways, zmq.POLLIN)
        self._poller.register(self.board.workers, zmq.POLLIN)
        self._wake = _wake_on_signals(self._note_signal)
        self._poller.register(self._wake, zmq.POLLIN)
        self._restart_dead(time.monotonic())

    def run(self) -> int:
        """Serve until told to stop and drained; return the exit code."""
        while not self._finished():
            self._wait()
            now = time.monotonic()
            self._receive_from_workers(now)
            self._receive_from_gateways(now)
            self._reap(now)
            self._look(now)
            self._restart_dead(now)
            self._stop_if_requested(now)
        self._shut_down()
        return self._exit_code

    def _wait(self) -> None:
        now = time.monotonic()
        next_start_s = min((child.start_at_s for child in self.children if not child.pid), default=now + TICK_S)
        timeout_s = max(
            0.0, min(self._last_look_s + TICK_S, next_start_s if not self._stop_requested else now + 0.1) - now
        )
        events = dict(self._poller.poll(int(timeout_s * 1000) + 1))
        if self._wake in events:
            os.read(self._wake, 1024)

    def _receive_from_workers(self, now: float) -> None:
        for identity, message, samples in self.board.from_workers():
            child = self._child(identity)
            if child is not None:
                child.heard(now, message.phase if isinstance(message, PhaseChange) else None)
                self._check_worker(child, message)
                self.dispatcher.on_worker(child.spec.index, message, samples, now)

    def _child(self, identity: bytes) -> Child | None:
        """Return the child whose present life has this identity; messages of earlier lives have none."""
        index = identity.partition(b".")[0]
        child = self.children[int(index)] if index.isdigit() and int(index) < len(self.children) else None
        return child if child is not None and child.pid and child.spec.identity == identity else None

    def _check_worker(self, child: Child, message: FromWorker) -> None:
        if isinstance(message, Done):
            child.finished_a_segment = True
        if isinstance(message, WorkerHello) and (message.protocol, message.package) != (PROTOCOL_VERSION, __version__):
            # The package was replaced on disk while this process ran: only a restart can mend that.
            child.kill(f"it is version {message.package}, this process is {__version__}")
            self._stop(ExitCode.STALE_VERSION)

    def _receive_from_gateways(self, now: float) -> None:
        for identity, message in self.board.from_gateways():
            if isinstance(message, StatusQuery):
                self._to_gateway(identity, self._status(message.query), None)
            else:
                self.dispatcher.on_gateway(identity, message, now)

    def _reap(self, now: float) -> None:
        for child in self.children:
            pid, pidfd = child.pid, child.pidfd
            reason = child.reap(now)
            if reason is not None:
                self._poller.unregister(pidfd)
                level = logging.INFO if self._stop_requested else logging.WARNING
                logger.log(level, "worker %d, pid %d, ended: %s", child.spec.index, pid, reason)
                self.dispatcher.worker_gone(child.spec.index, reason)
                if (
                    child.exit_status == ExitCode.ENGINE_BROKEN
                    and self.dispatcher.pools[child.spec.pool].engine is None
                ):
                    logger.error(
                        "pool %s: its engine cannot be loaded; nothing will change that but the operator",
                        child.spec.pool,
                    )
                    self._stop(ExitCode.ENGINE_BROKEN)

    def _look(self, now: float) -> None:
        if now - self._last_look_s < TICK_S:
            return
        self._last_look_s = now
        for child in self.children:
            child.look(now)
        for identity in self.dispatcher.silent_gateways(now, self.settings.workers.gateway_timeout_s):
            self.dispatcher.gateway_gone(identity, "silent")

    def _restart_dead(self, now: float) -> None:
        if self._stop_requested:
            return
        for child in self.children:
            if not child.pid and now >= child.start_at_s:
                child.start(now)
                self._poller.register(child.pidfd, zmq.POLLIN)

    def _stop(self, exit_code: ExitCode) -> None:
        """Leave as after a SIGTERM, with this exit code."""
        self._exit_code = exit_code
        self._stop_requested = max(1, self._stop_requested)

    def _stop_if_requested(self, now: float) -> None:
        if self._stop_requested and not self.dispatcher.draining:
            logger.info("stopping: %d segments in progress", self.dispatcher.n_running)
            self._stop_by_s = now + self.settings.workers.drain_timeout_s
            self.dispatcher.drain()

    def _finished(self) -> bool:
        """True when the half has been told to stop and nothing is in progress, or nobody waits for it any longer."""
        if not self.dispatcher.draining:
            return False
        return self.dispatcher.n_running == 0 or time.monotonic() > self._stop_by_s or self._stop_requested > 1

    def _shut_down(self) -> None:
        for child in self.children:
            if child.pid:
                self._to_worker(child.spec.index, Stop())
        deadline = time.monotonic() + STOP_GRACE_S
        while any(child.pid for child in self.children) and time.monotonic() < deadline:
            self._poller.poll(50)
            list(self.board.from_workers())
            self._reap(time.monotonic())
        for child in self.children:
            child.kill("it did not stop in time")
        while any(child.pid for child in self.children):
            self._poller.poll(50)
            self._reap(time.monotonic())
        self.board.close()
        self.runtime_dir.unlock()
        logger.info("stopped")

    def _note_signal(self, number: int, frame: FrameType | None) -> None:
        self._stop_requested += 1

    def _to_gateway(self, identity: bytes, message: ToGateway, samples: bytes | None) -> None:
        self.board.to_gateway(identity, message, samples)

    def _to_worker(self, index: int, message: ToWorker) -> None:
        self.board.to_worker(self.children[index].spec.identity, message)

    def _status(self, query: int) -> Status:
        return Status(
            query=query,
            incarnation=self.dispatcher.incarnation,
            pid=os.getpid(),
            pools=[pool.status() for pool in self.dispatcher.pools.values()],
            workers=[self._worker_status(child) for child in self.children],
        )

    def _worker_status(self, child: Child) -> WorkerStatus:
        link = self.dispatcher.workers[child.spec.index]
        stats = link.stats
        return WorkerStatus(
            index=child.spec.index,
            pool=child.spec.pool,
            pid=child.pid,
            state="stopping" if self._stop_requested and child.pid else child.state,
            phase=child.phase,
            engine=child.spec.engine,
            cpus=link.ready.cpus if link.ready else child.spec.cpus,
            threads=child.spec.n_threads,
            live_threads=procfs.live_threads(child.pid) if child.pid else 0,
            slots={"total": child.spec.n_slots, "active": len(link.jobs)},
            effective_cores=round(stats.effective_cores, 3),
            rss_bytes=procfs.rss_bytes(child.pid) if child.pid else 0,
            voluntary_switches=procfs.voluntary_switches(child.pid) if child.pid else 0,
            restarts=child.restarts,
            last_exit=child.last_exit,
            segments_done=stats.segments_done,
            audio_seconds=round(stats.audio_seconds, 6),
            busy_seconds=round(stats.busy_seconds, 6),
            cpu_seconds=round(stats.cpu_seconds, 6),
        )


def _wake_on_signals(handler: signal.Handlers | object) -> int:
    """Make SIGTERM and SIGINT call `handler` and end a poll; return the descriptor to poll."""
    reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handler)  # type: ignore[arg-type]
    # A child that ends wakes the loop through its pidfd; its parent's terminal does not end this process.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    return reader


def run(settings: Settings, runtime_dir: RuntimeDir) -> int:
    """Run the half; return its exit code."""
    half = WorkersHalf(settings, runtime_dir)
    try:
        half.start()
    except zmq.ZMQError as error:
        raise CannotStart(f"cannot bind the sockets in {runtime_dir.path}: {error}") from error
    return half.run()
