"""The real dispatcher over several synthesis cores in one process, and a gateway that submits again what was lost.

Messages wait in a queue between the two, as they do between processes; whoever uses it decides which core works next.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

import msgspec
import numpy as np

from support.pools import PACE
from tts_service import __version__
from tts_service.errors import Code
from tts_service.protocol import (
    PROTOCOL_VERSION,
    Assign,
    Cancel,
    Cancelled,
    Chunk,
    Credit,
    Done,
    Failed,
    FromWorker,
    Hello,
    Job,
    Ready,
    Runtime,
    Submit,
    ToGateway,
    ToWorker,
)
from tts_workers.core import SynthesisCore
from tts_workers.dispatcher import Dispatcher
from tts_workers.engines import Engine
from tts_workers.engines.base import NO_SAMPLES, Samples
from tts_workers.jobqueue import JobQueue
from tts_workers.link import WorkerLink
from tts_workers.pool import Pool

GATEWAY = b"gateway"
GENERATION = "g1"


class DispatchedCores:
    """`work` has one core make one piece of engine work; `crash` has it lose all that it holds, and come back."""

    def __init__(self, engine: Engine, n_workers: int, n_slots: int) -> None:
        self.engine = engine
        self.n_slots = n_slots
        self.now = 100.0
        self.ends: dict[str, Done | Failed | Cancelled] = {}
        """Of each request, when it has ended."""
        self._jobs: dict[str, Job] = {}
        self._heard: dict[str, list[Samples]] = {}
        self._mail: deque[Callable[[], None]] = deque()
        links = [WorkerLink(index, "default", n_slots) for index in range(n_workers)]
        pools = {"default": Pool("default", "", 0, JobQueue(1000), workers=links)}
        self.dispatcher = Dispatcher(pools, "life-1", self._to_gateway, self._to_worker)
        self.dispatcher.on_gateway(GATEWAY, Hello(PROTOCOL_VERSION, __version__), self.now)
        self.cores = [self._core(index) for index in range(n_workers)]
        self._deliver()

    def submit(self, job: Job) -> None:
        """Ask for a job, which is its request's only one."""
        self._jobs[job.key.request_id] = job
        self._heard.setdefault(job.key.request_id, [])
        self.dispatcher.on_gateway(GATEWAY, Submit(job), self.now)
        self._deliver()

    def cancel(self, request_id: str) -> None:
        """Its client leaves."""
        self.dispatcher.on_gateway(GATEWAY, Cancel(self._jobs[request_id].key), self.now)
        self._deliver()

    def work(self, index: int) -> None:
        """Have a core make one piece of engine work."""
        self.now += 0.01
        self.cores[index].advance()
        self._deliver()

    def crash(self, index: int) -> None:
        """Have a core lose everything, and come back empty."""
        for slot in self.cores[index].slots.slots:
            if slot.sequence is not None:
                self.engine.release(slot.sequence)
        self.dispatcher.worker_gone(index, "a crash")
        self.cores[index] = self._core(index)
        self._deliver()

    def finish(self) -> None:
        """Work until nothing is left to do."""
        while any(core.slots.n_active for core in self.cores):
            for index in range(len(self.cores)):
                self.work(index)

    def heard(self, request_id: str) -> Samples:
        """Return what a request has been sent so far."""
        return np.concatenate([NO_SAMPLES, *self._heard[request_id]])

    @property
    def n_steps(self) -> int:
        """Engine steps of all cores as they live now."""
        return sum(core.stats().steps for core in self.cores)

    @property
    def n_active(self) -> int:
        """Slots with a segment."""
        return sum(core.slots.n_active for core in self.cores)

    def _core(self, index: int) -> SynthesisCore:
        core = SynthesisCore(self.engine, GENERATION, self.n_slots, partial(self._from_worker, index))
        self._from_worker(index, Ready(self.engine.info, GENERATION, [index], 1, Runtime(1, False), PACE), None)
        self._from_worker(index, Credit(self.n_slots), None)
        return core

    def _from_worker(self, index: int, message: FromWorker, samples: Samples | None) -> None:
        data = samples.tobytes() if samples is not None else None
        self._mail.append(lambda: self.dispatcher.on_worker(index, message, data, self.now))

    def _to_worker(self, index: int, message: ToWorker) -> None:
        if isinstance(message, Assign):
            self._mail.append(lambda: self.cores[index].assign(message.job))
        elif isinstance(message, Cancel):
            self._mail.append(lambda: self.cores[index].cancel(message.key))

    def _deliver(self) -> None:
        while self._mail:
            self._mail.popleft()()

    def _to_gateway(self, identity: bytes, message: ToGateway, data: bytes | None) -> None:
        if isinstance(message, Chunk):
            heard = self._heard[message.key.request_id]
            assert message.from_sample == sum(map(len, heard)), "nothing is lost, and nothing comes twice"
            heard.append(np.frombuffer(data or b"", np.float32))
        elif isinstance(message, Done | Failed | Cancelled):
            self._end(message)

    def _end(self, message: Done | Failed | Cancelled) -> None:
        request_id = message.key.request_id
        if not isinstance(message, Failed) or message.code != Code.WORKER_DIED:
            assert request_id not in self.ends
            self.ends[request_id] = message
            return
        lost = self._jobs[request_id]
        key = msgspec.structs.replace(lost.key, attempt=lost.key.attempt + 1)
        again = msgspec.structs.replace(lost, key=key, alone=True, from_sample=len(self.heard(request_id)))
        self._mail.append(lambda: self.submit(again))
