"""A gateway reduced to its socket: speaks tts_service.protocol with a real workers' half, and misbehaves on request."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import zmq

from support import pools
from tts_service import __version__
from tts_service.protocol import (
    PROTOCOL_VERSION,
    TO_GATEWAY,
    Alive,
    Bye,
    Cancel,
    Cancelled,
    Catalogue,
    Chunk,
    Done,
    Failed,
    FromGateway,
    Hello,
    JobKey,
    Message,
    Status,
    StatusQuery,
    Submit,
    WorkerStatus,
    decode,
    encode,
)
from tts_service.runtime_dir import RuntimeDir

M = TypeVar("M")
Last = Done | Failed | Cancelled

HEARTBEAT_S = 0.4
TIMEOUT_S = 30.0


@dataclass
class Answer:
    """What has come for one job so far."""

    chunks: list[tuple[Chunk, bytes]] = field(default_factory=list)
    lasts: list[Last] = field(default_factory=list)

    @property
    def samples(self) -> Any:
        """(n_samples,) float32; the chunks must join without a gap."""
        n = self.chunks[0][0].from_sample if self.chunks else 0
        for chunk, payload in self.chunks:
            assert chunk.from_sample == n
            assert len(payload) == 4 * chunk.n_samples
            n += chunk.n_samples
        return np.frombuffer(b"".join(payload for _, payload in self.chunks), "<f4")


class FakeGateway:
    """Owns one DEALER. Everything it is sent is kept: messages in order in `inbox`, jobs' messages in `answers`."""

    def __init__(self, runtime_dir: Path, *, talks: bool = True) -> None:
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.linger = 0
        self._socket.identity = f"fake-{os.getpid()}-{secrets.token_hex(4)}".encode()
        self._socket.connect(RuntimeDir(runtime_dir).gateway_endpoint)
        self._beat_s = 0.0
        self.inbox: list[Message] = []
        self.answers: dict[JobKey, Answer] = {}
        self.talks = talks
        """False: sends no heartbeats."""

    def __enter__(self) -> FakeGateway:
        return self

    def __exit__(self, *error: object) -> None:
        self.vanish()

    def vanish(self) -> None:
        """Close the socket without a word, as a killed process does."""
        self._context.destroy(linger=0)

    # Talking

    def send(self, message: FromGateway) -> None:
        """Send any message."""
        self._socket.send(encode(message))

    def hello(self, **changes: Any) -> None:
        """Greet, in the right version unless `changes` say otherwise."""
        fields = {"protocol": PROTOCOL_VERSION, "package": __version__} | changes
        self.send(Hello(**fields))

    def submit(self, text: str, **changes: Any) -> JobKey:
        """Submit a job for the tone engine, urgent and of a client of its own; fields may be changed."""
        name, now = secrets.token_hex(4), time.monotonic()
        fields = {"request_id": name, "client": name, "arrived_s": now, "deadline_s": now}
        fields |= {"voice": "hz400", "generation": "", "max_samples": 10**9}
        job = pools.job(text=text, **(fields | changes))
        self.answers[job.key] = Answer()
        self.send(Submit(job))
        return job.key

    def cancel(self, key: JobKey) -> None:
        """Withdraw a job."""
        self.send(Cancel(key))

    def bye(self) -> None:
        """Leave politely; the socket stays open."""
        self.talks = False
        self.send(Bye())

    # Listening

    def pump(self, timeout_s: float = 0.05) -> None:
        """Take what is there, after waiting up to `timeout_s` for the first message."""
        if self.talks and time.monotonic() > self._beat_s:
            self._beat_s = time.monotonic() + HEARTBEAT_S
            self.send(Alive())
        if not self._socket.poll(int(timeout_s * 1000)):
            return
        while True:
            try:
                frames = self._socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            self._take(decode(TO_GATEWAY, frames[0]), frames[1] if len(frames) > 1 else b"")

    def _take(self, message: Any, payload: bytes) -> None:
        self.inbox.append(message)
        if isinstance(message, Chunk):
            self.answers[message.key].chunks.append((message, payload))
        elif isinstance(message, Last):
            self.answers[message.key].lasts.append(message)

    def wait(self, condition: Callable[[], Any], what: str, timeout_s: float = TIMEOUT_S) -> Any:
        """Listen until `condition` is true, and return its value."""
        deadline = time.monotonic() + timeout_s
        while not (value := condition()):
            assert time.monotonic() < deadline, f"{what} did not happen within {timeout_s:g} s"
            self.pump()
        return value

    def wait_for(self, kind: type[M], timeout_s: float = TIMEOUT_S) -> M:
        """Return the next message of a type, counted from now."""
        n_before = len(self.inbox)
        found = self.wait(lambda: [m for m in self.inbox[n_before:] if isinstance(m, kind)], kind.__name__, timeout_s)
        first: M = found[0]
        return first

    def answer(self, key: JobKey, timeout_s: float = TIMEOUT_S) -> Answer:
        """Return what has come for a job, once its last message is there."""
        self.wait(lambda: self.answers[key].lasts, f"the end of {key}", timeout_s)
        return self.answers[key]

    def last(self, key: JobKey, timeout_s: float = TIMEOUT_S) -> Last:
        """Return a job's one last message, once it is there."""
        (last,) = self.answer(key, timeout_s).lasts
        return last

    def wait_for_audio(self, *keys: JobKey) -> None:
        """Wait until the first chunk of every one of these jobs is there: they are running."""
        self.wait(lambda: all(self.answers[key].chunks for key in keys), "the first audio")

    def catalogue(self) -> Catalogue:
        """Greet if need be, and return the latest catalogue."""
        known = [message for message in self.inbox if isinstance(message, Catalogue)]
        if not known:
            self.hello()
            return self.wait_for(Catalogue)
        return known[-1]

    def wait_warm(self) -> None:
        """Wait until every worker has been warm once."""
        self.catalogue()
        self.wait(lambda: self.catalogue().warm, "warm")

    def status(self) -> Status:
        """Ask for the state of workers and queues."""
        query = secrets.randbits(48)
        self.send(StatusQuery(query))
        status = self.wait_for(Status)
        assert status.query == query
        return status

    def worker(self, index: int = 0) -> WorkerStatus:
        """Ask for the state of one worker."""
        return self.status().workers[index]

    def wait_for_worker(self, index: int, condition: Callable[[WorkerStatus], Any], what: str) -> WorkerStatus:
        """Ask until a worker's state is as wanted."""
        found: list[WorkerStatus] = []

        def is_so() -> bool:
            found[:] = [self.worker(index)]
            return bool(condition(found[0]))

        self.wait(is_so, what)
        return found[0]

    def wait_replaced(self, index: int, old_pid: int) -> WorkerStatus:
        """Wait until another process than `old_pid` is warm in a worker's place."""
        return self.wait_for_worker(
            index, lambda worker: worker.state == "ready" and worker.pid not in (0, old_pid), f"worker {index} back"
        )
