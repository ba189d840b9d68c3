"""One synthesis process as its supervisor sees it, through all its lives. Owned by the supervisor's thread."""

from __future__ import annotations

import logging
import math
import os
import signal
import subprocess
import sys
from collections import Counter

import msgspec

from tts_service import procfs
from tts_service.errors import ExitCode
from tts_service.protocol import Phase
from tts_service.settings import WorkerSettings
from tts_workers.limits import backoff_s, is_hung, limit_s
from tts_workers.spec import WorkerSpec, worker_environment

logger = logging.getLogger(__name__)

_STATES = {Phase.START: "starting", Phase.LOAD: "loading", Phase.WARM_UP: "warming"}


class Child:
    """Starts, watches, kills and restarts one process."""

    def __init__(self, spec: WorkerSpec, settings: WorkerSettings) -> None:
        self.spec = msgspec.structs.replace(spec, incarnation=0)
        self.settings = settings
        self.phase = Phase.START
        self.pid = 0
        """0 while no process lives."""
        self.pidfd = -1
        self.last_exit = ""
        self.exit_status: int | None = None
        """Of the last life; negative for a signal."""
        self.finished_a_segment = False
        # A wide worker waits until told, so that it keeps no other from getting ready.
        self.start_at_s = math.inf if spec.wide else 0.0
        """Monotonic time of the next start, while no process lives; inf for none."""
        self.left_out = False
        """True once it is not to be started again."""
        self._process: subprocess.Popen[bytes] | None = None
        self._fruitless_deaths = 0
        self._heard_s = 0.0
        self._waited_then_s = 0.0
        self._heard_since_look = True
        self._killed_for = ""
        self._cause = ""
        self._successor: WorkerSpec | None = None
        self.n_threads_when_ready = 0
        """Live threads of the present process when it was first looked at as ready; 0 before."""
        self.faults: list[str] = []
        """Ways in which the present process differs from its plan."""
        self.exits: Counter[str] = Counter()
        """Ends of the processes of this index, by cause."""

    @property
    def was_killed_by_others(self) -> bool:
        """True where the last life ended by a SIGKILL that was not this supervisor's: a person's, or the kernel's."""
        return self.exit_status == -signal.SIGKILL and not self._killed_for

    @property
    def is_ready(self) -> bool:
        """True once the process has been warm."""
        return bool(self.pid) and self.phase not in _STATES

    @property
    def restarts(self) -> int:
        """Lives before the present one."""
        return max(0, self.spec.incarnation - 1)

    @property
    def state(self) -> str:
        """The life's state for GET /workers."""
        return "dead" if not self.pid else _STATES.get(self.phase, "ready")

    def start(self, now: float) -> None:
        """Begin a new life in a fresh interpreter."""
        self.spec = msgspec.structs.replace(self.spec, incarnation=self.spec.incarnation + 1)
        # -P: the installed package, whatever lies in the present directory.
        command = [sys.executable, "-P", "-m", "tts_workers.entry", self.spec.to_json()]
        environment = worker_environment(dict(os.environ), self.spec.n_threads)
        # Its own session: a Ctrl-C at the terminal is the parent's to handle.
        self._process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, start_new_session=True)
        self.pid = self._process.pid
        self.pidfd = os.pidfd_open(self.pid)
        self.phase, self.finished_a_segment, self._killed_for, self._cause = Phase.START, False, "", ""
        self.faults, self.n_threads_when_ready = [], 0
        self._waited_then_s, self._heard_since_look, self._heard_s = 0.0, True, now
        logger.info("worker %d started: pid %d, CPUs %s", self.spec.index, self.pid, self.spec.cpus)

    def heard(self, now: float, phase: Phase | None = None) -> None:
        """Note a message of the process, and the phase it says it enters."""
        self._heard_s, self._heard_since_look = now, True
        self.phase = phase or self.phase

    def look(self, now: float) -> None:
        """Kill the process if it hangs. A process that only waits for a CPU is left alone."""
        if not self.pid:
            return
        waited_s = procfs.waited_for_cpu_s(self.pid)
        if self._heard_since_look:
            self._heard_since_look, self._waited_then_s = False, waited_s
        limit = limit_s(self.phase, self.settings)
        if is_hung(now - self._heard_s, waited_s - self._waited_then_s, limit):
            self.kill(f"hung in phase {self.phase}, silent for {now - self._heard_s:.1f} s", "hung")

    def report_faults(self, faults: list[str]) -> None:
        """Note how the process differs from its plan, and say so once."""
        if faults != self.faults:
            self.faults = faults
            if faults:
                logger.error("worker %d differs from its plan: %s", self.spec.index, "; ".join(faults))
            else:
                logger.info("worker %d is as planned again", self.spec.index)

    def expect_end(self, cause: str) -> None:
        """Note why the process will end by itself soon."""
        self._cause = cause

    def be_followed_by(self, spec: WorkerSpec) -> None:
        """Have the next life begin with this spec, at once when the present one has ended."""
        self._successor = spec
        self.start_at_s = 0.0
        if self.pid:
            self._cause = "reload"
        else:
            self._follow()

    def _follow(self) -> None:
        if self._successor is not None:
            self.spec = msgspec.structs.replace(self._successor, incarnation=self.spec.incarnation)
            self._successor = None

    def kill(self, reason: str, cause: str) -> None:
        """Kill the process; `reap` sees its end. `cause` is its word in the metrics."""
        if self.pid and not self._killed_for:
            logger.error("worker %d, pid %d: killed, %s", self.spec.index, self.pid, reason)
            self._killed_for, self._cause = reason, cause
            # SIGKILL ends a stopped process, too.
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def interrupt(self) -> None:
        """End a process that is still starting: it has nothing to finish, and reads no message before it is up."""
        if self.pid:
            signal.pidfd_send_signal(self.pidfd, signal.SIGTERM)

    def reap(self, now: float) -> str | None:
        """Return why the process has ended, or None while it lives."""
        if self._process is None or (status := self._process.poll()) is None:
            return None
        os.close(self.pidfd)
        self.last_exit, self.exit_status = self._killed_for or _describe(status), status
        self.exits[self._cause or _cause(status)] += 1
        self._fruitless_deaths = 0 if self.finished_a_segment else self._fruitless_deaths + 1
        pause_s = math.inf if self.left_out else backoff_s(self._fruitless_deaths, self.settings.backoff_max_s)
        self.start_at_s = now + pause_s
        if self._successor is not None:
            self._fruitless_deaths, self.start_at_s = 0, now
            self._follow()
        self._process, self.pid, self.pidfd = None, 0, -1
        return self.last_exit


def _cause(status: int) -> str:
    return f"signal_{_signal_name(-status)}" if status < 0 else f"exit_{status}"


def _describe(status: int) -> str:
    if status < 0:
        return f"signal {_signal_name(-status)}"
    try:
        return f"exit code {status} ({ExitCode(status).name.lower()})"
    except ValueError:
        return f"exit code {status}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        # Most real-time signals have no name.
        return str(number)
