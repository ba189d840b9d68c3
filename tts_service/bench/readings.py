"""GET /workers, read as numbers: the same from any server, near or far, that gives these fields."""

from __future__ import annotations

import http.client
import time
from typing import TypeVar

import msgspec

from tts_service.errors import Unavailable
from tts_service.http_client import Connection

T = TypeVar("T")

REQUEST_TIMEOUT_S = 10.0
# What an aborted request has left behind may have a long segment to go.
IDLE_TIMEOUT_S = 60.0
LOOK_S = 0.02


class WorkerReading(msgspec.Struct, frozen=True):
    """One synthesis process; counters run since its start."""

    index: int
    pid: int
    live_threads: int
    voluntary_switches: int
    busy_seconds: float
    """Wall time of its engine's work."""
    cpu_seconds: float
    """CPU time of the whole process during that."""
    audio_seconds: float
    wide: bool = False
    """True for one that has the CPUs of the others while those have nothing to do."""


class Reading(msgspec.Struct, frozen=True):
    """All synthesis processes of a server at one time."""

    workers: list[WorkerReading]

    def worker(self, index: int) -> WorkerReading | None:
        """Return the worker with this index, if the server has it."""
        return next((worker for worker in self.workers if worker.index == index), None)

    @property
    def n_sharing(self) -> int:
        """Workers that share the work of a busy server."""
        return sum(not worker.wide for worker in self.workers)


class _Slots(msgspec.Struct):
    active: int = 0


class WorkerActivity(msgspec.Struct):
    """What a worker is doing."""

    index: int = 0
    pid: int = 0
    state: str = ""
    slots: _Slots = msgspec.field(default_factory=_Slots)


class _Pool(msgspec.Struct):
    queued: int = 0
    running: int = 0


class _Dispatcher(msgspec.Struct):
    pid: int = 0


class Activity(msgspec.Struct):
    """The parts of the answer that other servers may lack."""

    pools: list[_Pool] = []
    workers: list[WorkerActivity] = []
    dispatcher: _Dispatcher = msgspec.field(default_factory=_Dispatcher)

    @property
    def n_in_progress(self) -> int:
        """Segments that wait or are in a slot."""
        segments = sum(pool.queued + pool.running for pool in self.pools)
        return segments + sum(worker.slots.active for worker in self.workers)


def read_idle(url: str, timeout_s: float = IDLE_TIMEOUT_S) -> Reading:
    """Return a reading of a server in which nothing is in progress; Unavailable after `timeout_s` seconds.

    The counters of a segment are complete when it has left its slot.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        data = _get(url)
        if _decode(url, data, Activity).n_in_progress == 0:
            return _decode(url, data, Reading)
        if time.monotonic() > deadline:
            raise Unavailable(f"the server at {url} still has segments in progress after {timeout_s:g} s")
        time.sleep(LOOK_S)


def has_workers(url: str) -> bool:
    """Return True where a server has GET /workers with these fields, as ours does. Unavailable where none answers."""
    with Connection(url, REQUEST_TIMEOUT_S) as connection:
        answer = connection.get("/workers")
        try:
            body = answer.body()
        except http.client.HTTPException:
            return False
    if answer.status != 200:
        return False
    try:
        msgspec.json.decode(body, type=Reading)
    except msgspec.DecodeError:
        return False
    return True


def read_activity(url: str) -> Activity:
    """Return what a server is doing now."""
    return _decode(url, _get(url), Activity)


def dispatcher_pid(url: str) -> int:
    """Return the process id of the server's dispatcher, 0 where the server names none."""
    return read_activity(url).dispatcher.pid


def _get(url: str) -> bytes:
    # A connection of its own for each reading: a kept one would hold a thread of a server that has one a connection.
    with Connection(url, REQUEST_TIMEOUT_S) as connection:
        answer = connection.get("/workers")
        body = answer.body()
    if answer.status != 200:
        raise Unavailable(f"the server at {url} answers GET /workers with status {answer.status}")
    return body


def _decode(url: str, data: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.DecodeError as error:
        raise Unavailable(f"GET /workers of the server at {url} cannot be measured by: {error}") from None
