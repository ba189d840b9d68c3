"""Signals to processes of a server that this command has started, and to no others."""

from __future__ import annotations

import os
import random
import signal
import time

import msgspec

from tts_service.bench.family import descendants
from tts_service.bench.readings import dispatcher_pid, read_activity
from tts_service.bench.target import Server
from tts_service.errors import Unavailable

DISPATCHER = "dispatcher"
LOOK_S = 0.02
BACK_TIMEOUT_S = 60.0


class Blow(msgspec.Struct, frozen=True):
    """One signal."""

    at_s: float
    """Monotonic time."""
    target: str
    """worker 0 and so on, or dispatcher."""
    pid: int
    signal: str


class Havoc:
    """Strikes at the processes below `server.pid`. Used by the main thread."""

    def __init__(self, server: Server, seed: int) -> None:
        self.blows: list[Blow] = []
        self._server = server
        self._draws = random.Random(seed)

    def strike_workers(self, seconds: float, kill_every_s: float, stop_every_s: float) -> None:
        """For so long, kill a worker every `kill_every_s`, and now and then stop one instead (0: never)."""
        end_s = time.monotonic() + seconds
        next_stop_s = time.monotonic() + (stop_every_s or seconds + kill_every_s)
        while time.monotonic() + kill_every_s < end_s:
            time.sleep(kill_every_s)
            stop = time.monotonic() >= next_stop_s
            if self._strike_worker(signal.SIGSTOP if stop else signal.SIGKILL) and stop:
                next_stop_s += stop_every_s
        time.sleep(max(0.0, end_s - time.monotonic()))

    def _strike_worker(self, number: signal.Signals) -> bool:
        """Send the signal to one of the workers that are warm; return False where there is none."""
        warm = [worker for worker in read_activity(self._server.url).workers if worker.state == "ready"]
        if not warm:
            return False
        victim = self._draws.choice(warm)
        return self._send(f"worker {victim.index}", victim.pid, number)

    def kill_dispatcher(self) -> bool:
        """Kill the process that holds the queue, and with it its workers; return False where it was not there."""
        return self._send(DISPATCHER, dispatcher_pid(self._server.url), signal.SIGKILL)

    def wait_back(self) -> None:
        """Wait until all workers are warm again, whoever is their dispatcher. Unavailable where that takes too long."""
        deadline = time.monotonic() + BACK_TIMEOUT_S
        while not self._is_whole():
            if time.monotonic() > deadline:
                raise Unavailable(f"the server has not come back within {BACK_TIMEOUT_S:.0f} s")
            time.sleep(LOOK_S)

    def _is_whole(self) -> bool:
        try:
            workers = read_activity(self._server.url).workers
        except Unavailable:
            return False
        return bool(workers) and all(worker.state == "ready" for worker in workers)

    def _send(self, target: str, pid: int, number: signal.Signals) -> bool:
        try:
            # Held first and looked at then: a pid alone may have become somebody else's meanwhile.
            descriptor = os.pidfd_open(pid)
        except OSError:
            return False
        try:
            if pid not in descendants(self._server.pid):
                return False
            signal.pidfd_send_signal(descriptor, number)
        except ProcessLookupError:
            return False
        finally:
            os.close(descriptor)
        self.blows.append(Blow(time.monotonic(), target, pid, number.name))
        return True
