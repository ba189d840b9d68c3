"""A dispatcher with recorded gateways and workers, which can vanish the way real ones do: in the middle of a send."""

from __future__ import annotations

from typing import Any, TypeVar

from support.pools import PACE, engine, job
from tts_service import __version__
from tts_service.protocol import (
    PROTOCOL_VERSION,
    Assign,
    Cancel,
    Cancelled,
    Credit,
    Done,
    Failed,
    Hello,
    Introduce,
    Job,
    JobKey,
    Ready,
    Refused,
    Runtime,
    Submit,
    ToGateway,
    ToWorker,
    Width,
)
from tts_workers.dispatcher import Dispatcher
from tts_workers.jobqueue import JobQueue
from tts_workers.link import WorkerLink
from tts_workers.pool import Pool

M = TypeVar("M")
Last = Done | Failed | Cancelled


def key(name: str) -> JobKey:
    """Return the key of the first attempt at the first segment of a request."""
    return job(request_id=name).key


class DispatcherWorld:
    """`n_slots` has a number for each worker; all are of one pool unless `pools` names one for each.

    With `wide`, the first pool has a wide worker, too, with the last index.
    """

    def __init__(
        self,
        *n_slots: int,
        queue_limit: int = 100,
        pools: tuple[str, ...] = (),
        warm: bool = True,
        wide: bool = False,
    ) -> None:
        names = pools or ("default",) * len(n_slots)
        self.pools = {name: Pool(name, "", 0, JobQueue(queue_limit)) for name in dict.fromkeys(names)}
        for index, (name, slots) in enumerate(zip(names, n_slots, strict=True)):
            self.pools[name].workers.append(WorkerLink(index, name, slots))
        if wide:
            n_threads = len(self.pools[names[0]].workers)
            self.pools[names[0]].wide = WorkerLink(len(names), names[0], 1, n_threads=n_threads)
        self.dispatcher = Dispatcher(self.pools, "life-1", self._to_gateway, self._to_worker)
        self.sent: list[tuple[bytes, ToGateway, bytes | None]] = []
        self.orders: list[tuple[int, ToWorker]] = []
        self.unreachable: set[bytes] = set()
        self.submitted_by: dict[JobKey, bytes] = {}
        self.now = 100.0
        if warm:
            for index in self.dispatcher.workers:
                self.warm(index)

    def _to_gateway(self, identity: bytes, message: ToGateway, samples: bytes | None) -> None:
        """Send, or report the gateway as gone from within the send, as the switchboard does."""
        if identity in self.unreachable:
            self.dispatcher.gateway_gone(identity, "unreachable")
        else:
            is_known = identity in self.dispatcher.gateways
            assert is_known or isinstance(message, Introduce | Refused), f"{message} for a gateway that is gone"
            self.sent.append((identity, message, samples))

    def _to_worker(self, index: int, message: ToWorker) -> None:
        if isinstance(message, Assign):
            assert self.submitted_by[message.job.key] in self.dispatcher.gateways, "work that nobody waits for"
        self.orders.append((index, message))

    # Gateways

    def hello(self, identity: bytes = b"g1", **changes: Any) -> None:
        """A gateway says Hello, in the right version unless `changes` say otherwise."""
        fields = {"protocol": PROTOCOL_VERSION, "package": __version__} | changes
        self.dispatcher.on_gateway(identity, Hello(**fields), self.now)

    def submit(self, request_id: str, gateway: bytes = b"g1", **changes: Any) -> Job:
        """A gateway submits a job."""
        submitted = job(request_id=request_id, **changes)
        self.submitted_by[submitted.key] = gateway
        self.dispatcher.on_gateway(gateway, Submit(submitted), self.now)
        return submitted

    def cancel(self, key: JobKey, gateway: bytes = b"g1") -> None:
        """A gateway withdraws a job."""
        self.dispatcher.on_gateway(gateway, Cancel(key), self.now)

    def received(self, gateway: bytes, kind: type[M]) -> list[M]:
        """Return the messages of a type that a gateway has been sent."""
        return [message for identity, message, _ in self.sent if identity == gateway and isinstance(message, kind)]

    def lasts(self, key: JobKey) -> list[tuple[bytes, Last]]:
        """Return the last messages of a job, and who got them."""
        return [(to, message) for to, message, _ in self.sent if isinstance(message, Last) and message.key == key]

    def failure(self, of: JobKey) -> Failed:
        """Return the failure that a job has ended in."""
        ((_, last),) = self.lasts(of)
        assert isinstance(last, Failed)
        return last

    # Workers

    def warm(self, index: int, generation: str = "g1", **changes: Any) -> None:
        """A worker comes up, with all its slots free."""
        ready = Ready(engine(**changes), generation, [index], 1, Runtime(1, spinning=False), PACE)
        self.dispatcher.on_worker(index, ready, None, self.now)
        self.from_worker(index, Credit(self.dispatcher.workers[index].n_slots))

    def from_worker(self, index: int, message: Any, samples: bytes | None = None) -> None:
        """A worker says something."""
        self.dispatcher.on_worker(index, message, samples, self.now)

    def end(self, index: int, last: Last) -> None:
        """A worker ends a job and gives its slot back."""
        self.from_worker(index, last)
        self.from_worker(index, Credit(1))

    def finish(self, index: int, key: JobKey) -> None:
        """A worker finishes a job."""
        self.end(index, Done(key, "g1", 480, 0.25))

    def assigned(self, index: int | None = None) -> list[JobKey]:
        """Return the jobs that a worker, or any, has been given, in order."""
        return [m.job.key for to, m in self.orders if isinstance(m, Assign) and index in (None, to)]

    def widths(self, index: int) -> list[int]:
        """Return the numbers of threads that a worker has been told to compute on, in order."""
        return [m.n_threads for to, m in self.orders if isinstance(m, Width) and to == index]

    def told_to_cancel(self, index: int) -> list[JobKey]:
        """Return the jobs that a worker has been told to drop."""
        return [m.key for to, m in self.orders if isinstance(m, Cancel) and to == index]
