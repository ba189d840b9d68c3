"""The dispatcher: jobs from gateways into workers' slots, audio back. Pure; messages and time in, messages out.

It keeps no audio. Every job that it has accepted ends in exactly one Done, Failed or Cancelled, whatever dies.
Runs on the one thread of the `tts-workers` process, inside half.py's loop.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from tts_service import __version__
from tts_service.errors import Code
from tts_service.protocol import (
    PROTOCOL_VERSION,
    Alive,
    Assign,
    Beat,
    Bye,
    CacheUse,
    Cancel,
    Cancelled,
    Catalogue,
    Chunk,
    Credit,
    Done,
    Drain,
    Failed,
    FromGateway,
    FromWorker,
    Hello,
    Introduce,
    Job,
    JobKey,
    Leaving,
    Ready,
    Refused,
    Rekey,
    Report,
    Stop,
    Submit,
    ToGateway,
    ToWorker,
    Welcome,
    Width,
)
from tts_workers.jobqueue import Waiting
from tts_workers.link import Running, WorkerLink
from tts_workers.pool import Pool
from tts_workers.widening import width

logger = logging.getLogger(__name__)

SendToGateway = Callable[[bytes, ToGateway, bytes | None], None]
SendToWorker = Callable[[int, ToWorker], None]


@dataclass
class GatewayLink:
    """The dispatcher's view of one gateway process."""

    identity: bytes
    heard_s: float
    """Monotonic time of its last message."""
    n_requests: int = 0
    """Speech requests it has in progress."""
    cache: CacheUse | None = None


class Dispatcher:
    """Owns the pools' queues and the table of gateways."""

    def __init__(
        self,
        pools: dict[str, Pool],
        incarnation: str,
        to_gateway: SendToGateway,
        to_worker: SendToWorker,
        waited: Callable[[str, float], None] = lambda pool, queue_s: None,
    ) -> None:
        self.pools = pools
        self.incarnation = incarnation
        self.draining = False
        self.closed = False
        self.gateways: dict[bytes, GatewayLink] = {}
        self.workers = {worker.index: worker for pool in pools.values() for worker in pool.all_workers}
        self._to_gateway = to_gateway
        self._to_worker = to_worker
        self._waited = waited
        self._announced: Catalogue | None = None

    # Gateways

    def on_gateway(self, identity: bytes, message: FromGateway, now: float) -> None:
        """Handle a message of a gateway; StatusQuery is the caller's, who knows the processes."""
        if isinstance(message, Hello):
            self._greet(identity, message, now)
            return
        gateway = self.gateways.get(identity)
        if gateway is None:
            self._to_gateway(identity, Introduce(), None)
            return
        gateway.heard_s = now
        if isinstance(message, Submit):
            self._submit(identity, message.job, now)
        elif isinstance(message, Cancel):
            self._cancel(identity, message.key)
        elif isinstance(message, Rekey):
            self._rekey(identity, message)
        elif isinstance(message, Bye):
            self.gateway_gone(identity, "it left")
        elif isinstance(message, Drain):
            logger.info("the service is %s", "closed to new requests" if message.closed else "open again")
            self.closed = message.closed
            self.announce()
        elif isinstance(message, Alive):
            gateway.n_requests, gateway.cache = message.n_requests, message.cache
            self._to_gateway(identity, Beat(self.incarnation), None)

    def _greet(self, identity: bytes, hello: Hello, now: float) -> None:
        if hello.protocol != PROTOCOL_VERSION or hello.package != __version__:
            message = f"gateway is version {hello.package} (protocol {hello.protocol}), workers are {__version__} "
            message += f"(protocol {PROTOCOL_VERSION}); restart the older half"
            logger.error("refused a gateway: %s", message)
            self._to_gateway(identity, Refused(__version__, message), None)
            return
        # A gateway that greets again submits all it still wants again.
        self._drop_jobs_of(identity)
        self.gateways[identity] = GatewayLink(identity, now)
        self._to_gateway(identity, Welcome(self.incarnation), None)
        self._to_gateway(identity, self.catalogue(), None)

    def _submit(self, identity: bytes, job: Job, now: float) -> None:
        pool = self.pools.get(job.pool)
        if pool is None:
            self._refuse(identity, job.key, Code.MODEL_NOT_FOUND, f"there is no pool {job.pool!r}", "model")
        elif self.draining:
            self._refuse(identity, job.key, Code.DRAINING, "the service is shutting down")
        elif (refusal := self._not_admitted(pool, job, now)) is not None:
            self._to_gateway(identity, refusal, None)
        else:
            pool.add(Waiting(job, identity, now))
            self._assign(pool, now)

    def _not_admitted(self, pool: Pool, job: Job, now: float) -> Failed | None:
        """Return why a new request cannot be taken; later segments belong to requests that were."""
        if job.key.segment > 0 or job.key.attempt > 1:
            return None
        wait_s = pool.wait_s(job, now)
        if self.closed:
            return Failed(job.key, Code.NOT_READY, "the service takes no new requests", retry_after_s=5.0)
        if pool.queue.is_full:
            message = f"{len(pool.queue)} segments are waiting, the limit is {pool.queue.limit}"
        elif wait_s > pool.max_wait_s:
            message = f"the wait is about {wait_s:.1f} s, the limit is {pool.max_wait_s:g} s"
        elif job.give_up_s and now + wait_s > job.give_up_s:
            message = (
                f"the wait is about {wait_s:.1f} s, the request wants to be served within {job.give_up_s - now:.1f} s"
            )
            return Failed(job.key, Code.DEADLINE_UNREACHABLE, message, "timeout", max(1.0, wait_s))
        else:
            return None
        return Failed(job.key, Code.QUEUE_FULL, message, retry_after_s=max(1.0, wait_s))

    def _rekey(self, identity: bytes, message: Rekey) -> None:
        for pool in self.pools.values():
            pool.queue.rekey(message.key, identity, message.deadline_s)
            worker = pool.find(message.key, identity)
            if worker is not None:
                self._to_worker(worker.index, message)

    def _refuse(
        self, identity: bytes, key: JobKey, code: Code, message: str, param: str = "", retry_after_s: float = 0.0
    ) -> None:
        self._to_gateway(identity, Failed(key, code, message, param, retry_after_s), None)

    def _cancel(self, identity: bytes, key: JobKey) -> None:
        """Stop a job of this gateway, wherever it is. One that has just ended has had its last message already."""
        for pool in self.pools.values():
            if pool.remove(key, identity) is not None:
                self._to_gateway(identity, Cancelled(key), None)
                return
            worker = pool.find(key, identity)
            if worker is not None:
                self._to_worker(worker.index, Cancel(key))
                return

    def gateway_gone(self, identity: bytes, reason: str) -> None:
        """Forget a gateway and stop its work."""
        if self.gateways.pop(identity, None) is None:
            return
        logger.info("gateway %s is gone: %s", identity.decode(errors="replace"), reason)
        self._drop_jobs_of(identity)

    def _drop_jobs_of(self, identity: bytes) -> None:
        for pool in self.pools.values():
            pool.remove_of(identity)
            for worker in pool.all_workers:
                for key in [key for key, running in worker.jobs.items() if running.gateway == identity]:
                    self._to_worker(worker.index, Cancel(key))

    def silent_gateways(self, now: float, limit_s: float) -> list[bytes]:
        """Return the gateways that have said nothing for `limit_s`."""
        return [gateway.identity for gateway in self.gateways.values() if now - gateway.heard_s > limit_s]

    # Workers

    def on_worker(self, index: int, message: FromWorker, samples: bytes | None, now: float) -> None:
        """Handle a message of the present life of worker `index`."""
        worker = self.workers[index]
        pool = self.pools[worker.pool]
        if isinstance(message, Chunk):
            running = worker.jobs.get(message.key)
            if running is not None:
                running.n_made = message.from_sample + message.n_samples
                self._reply(running, message, samples)
        elif isinstance(message, Done | Failed | Cancelled):
            self._finish(pool, worker, message)
        elif isinstance(message, Credit):
            worker.credits += message.n_slots
            self._assign(pool, now)
        elif isinstance(message, Leaving):
            worker.retiring = True
        elif isinstance(message, Report):
            worker.stats = message.stats
        elif isinstance(message, Ready):
            pool.came_up(worker, message)
            self.announce()

    def _finish(self, pool: Pool, worker: WorkerLink, message: Done | Failed | Cancelled) -> None:
        running = worker.jobs.pop(message.key, None)
        if running is None:
            return
        worker.alone = False
        self._stop_if_retired(worker)
        if isinstance(message, Done):
            rate_hz = pool.engine.sample_rate_hz if pool.engine else 1
            pool.finished(worker, len(running.job.text), message.compute_s, message.n_samples / rate_hz)
            message = msgspec.structs.replace(message, worker=worker.index, queue_s=running.queue_s)
        self._reply(running, message)

    def worker_gone(self, index: int, reason: str, *, killed: bool = False) -> None:
        """Answer for the jobs of a worker whose process has ended."""
        worker = self.workers[index]
        lost = self.pools[worker.pool].went_down(worker)
        for running in lost:
            message = f"worker {index} ended while it spoke: {reason}"
            self._reply(
                running, Failed(running.job.key, Code.WORKER_DIED, message, alone=len(lost) == 1, killed=killed)
            )
        self.announce()

    def _reply(self, running: Running, message: ToGateway, samples: bytes | None = None) -> None:
        """Send to the gateway of a job, unless that is gone."""
        if running.gateway in self.gateways:
            self._to_gateway(running.gateway, message, samples)

    def retire(self, index: int) -> None:
        """Give a worker no more jobs, and stop it when it has none left."""
        worker = self.workers[index]
        worker.retiring = True
        self._stop_if_retired(worker)

    def _stop_if_retired(self, worker: WorkerLink) -> None:
        if worker.retiring and not worker.jobs:
            self._to_worker(worker.index, Stop())

    def _assign(self, pool: Pool, now: float) -> None:
        while (assignment := pool.next_assignment(now)) is not None:
            worker, waiting = assignment
            self._waited(pool.name, now - waiting.since_s)
            self._to_worker(worker.index, Assign(waiting.job))
        self._tell_width(pool)

    def _tell_width(self, pool: Pool) -> None:
        """Tell a wide worker that has a job how many threads it may compute on now, where that has changed."""
        wide = pool.wide
        if wide is not None and wide.jobs and (n_threads := width(pool.workers, wide)) != wide.width:
            wide.width = n_threads
            self._to_worker(wide.index, Width(n_threads))

    # The whole

    def drain(self) -> None:
        """Take no more jobs and hand the waiting ones back; those in slots go on."""
        self.draining = True
        for pool in self.pools.values():
            for waiting in pool.remove_all():
                self._refuse(waiting.gateway, waiting.job.key, Code.DRAINING, "the service is shutting down")
        self.announce()

    @property
    def n_requests(self) -> int:
        """Speech requests in progress in all gateways, as they said last."""
        return sum(gateway.n_requests for gateway in self.gateways.values())

    def caches(self) -> list[CacheUse]:
        """Return how full the gateways' caches are, as they said last."""
        return [gateway.cache for gateway in self.gateways.values() if gateway.cache is not None]

    @property
    def n_running(self) -> int:
        """Jobs in the workers' slots."""
        return sum(len(worker.jobs) for worker in self.workers.values())

    def catalogue(self) -> Catalogue:
        """Return what gateways need to know about the pools as they are now."""
        infos = [info for pool in self.pools.values() if (info := pool.info()) is not None]
        # A wide worker only comes when the others are there.
        warm = all(pool.is_warm for pool in self.pools.values())
        return Catalogue(infos, warm, self.draining, self.closed, next(iter(self.pools), ""))

    def announce(self) -> None:
        """Send the catalogue to every gateway if it has changed."""
        catalogue = self.catalogue()
        if catalogue != self._announced:
            self._announced = catalogue
            for identity in list(self.gateways):
                self._to_gateway(identity, catalogue, None)
