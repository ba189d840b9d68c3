"""The gateway process's line to the dispatcher. One thread owns the socket; request threads talk to it by channels.

The socket is made in that thread, after gunicorn's fork: a ZeroMQ socket does not survive one, nor two threads.
"""

from __future__ import annotations

import logging
import os
import queue
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable

from tts_service import __version__
from tts_service.errors import Code, ProtocolError, RequestFailed
from tts_service.gateway.channel import Audio, Channel
from tts_service.gateway.dispatcher_socket import DispatcherSocket
from tts_service.protocol import (
    PROTOCOL_VERSION,
    Alive,
    Beat,
    Bye,
    CacheUse,
    Cancel,
    Cancelled,
    Catalogue,
    Chunk,
    Done,
    Drain,
    Failed,
    FromGateway,
    Hello,
    Introduce,
    Job,
    JobKey,
    Metrics,
    MetricsQuery,
    PoolInfo,
    Refused,
    Rekey,
    RequestReport,
    Status,
    StatusQuery,
    Submit,
    ToGateway,
    Welcome,
)

logger = logging.getLogger(__name__)

HEARTBEAT_S = 1.0
# A dispatcher that is silent for so long is taken for lost; it answers every heartbeat.
SILENCE_S = 4.0
RETRY_S = 0.05
STATUS_TIMEOUT_S = 2.0
# A gateway that was started again under load has its first requests before it has its dispatcher's greeting.
FIRST_WORD_S = 1.0
# Kept for a dispatcher that is away.
MAX_REPORTS = 10_000
_NOT_BACK = "the workers' half has not come back"


class DispatcherClient:
    """Connects, keeps the catalogue, carries jobs and events, and notices when the dispatcher is lost or another one.

    `on_refused` is called, once for each refusal, on the client's thread when the other half is of another version.
    """

    def __init__(
        self,
        endpoint: str,
        reconnect_timeout_s: float,
        on_refused: Callable[[str], None],
        n_requests: Callable[[], int] = lambda: 0,
        cache_use: Callable[[], CacheUse | None] = lambda: None,
    ) -> None:
        self.catalogue: Catalogue | None = None
        """The latest; None until the dispatcher has been heard once."""
        self.pools: dict[str, PoolInfo] = {}
        """Every pool that has ever been in a catalogue, as it was last: a dispatcher that has just been restarted
        knows its pools only when their engines are loaded again, and requests can wait for that."""
        self.connected = False
        self.refused = ""
        """Why the other half will not talk to this one; "" while it does."""
        self._endpoint = endpoint
        self._reconnect_timeout_s = reconnect_timeout_s
        self._on_refused = on_refused
        self._n_requests = n_requests
        self._cache_use = cache_use
        self._channels: dict[str, Channel] = {}
        self._questions: dict[int, queue.SimpleQueue[Status | Metrics]] = {}
        self._reports: deque[RequestReport] = deque(maxlen=MAX_REPORTS)
        self._commands: queue.SimpleQueue[FromGateway] = queue.SimpleQueue()
        self._held: dict[JobKey, Submit] = {}
        """Jobs that wait for a dispatcher that takes them, in order."""
        self._incarnation = ""
        self._greeting = False
        """True from a Hello until it is answered."""
        self._heard_s = 0.0
        self._lost_s = 0.0
        self._gave_up = False
        self._heard_of_pools = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dispatcher-client", daemon=True)
        self._wake_fd = -1

    def start(self) -> None:
        """Start the owner thread."""
        self._wake_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._lost_s = time.monotonic()
        self._thread.start()

    def close(self) -> None:
        """Say goodbye and end the thread."""
        self._closing.set()
        self._wake()
        self._thread.join(timeout=3.0)

    # Request threads

    def known_pools(self) -> list[PoolInfo]:
        """Return every pool that is known. A process that has only just started waits a moment for its first word."""
        self._heard_of_pools.wait(FIRST_WORD_S)
        return list(self.pools.values())

    def serves(self, pool: PoolInfo) -> bool:
        """Return True where new requests are taken now, and this is what the pool is at present."""
        catalogue = self.catalogue
        if catalogue is None or not self.connected or catalogue.draining or catalogue.closed:
            return False
        return any((other.name, other.generation) == (pool.name, pool.generation) for other in catalogue.pools)

    def open(self, name: str) -> Channel:
        """Return a channel for one request; `name` is unique in this process."""
        channel = Channel(self, name)
        self._channels[name] = channel
        return channel

    def post(self, channel: Channel, job: Job) -> None:
        """See Broker."""
        self._command(Submit(job))

    def rekey(self, key: JobKey, deadline_s: float) -> None:
        """See Broker."""
        self._command(Rekey(key, deadline_s))

    def withdraw(self, channel: Channel, keys: list[JobKey]) -> None:
        """See Broker."""
        for key in keys:
            self._command(Cancel(key))

    def forget(self, channel: Channel) -> None:
        """See Broker."""
        self._channels.pop(channel.name, None)

    def status(self) -> Status:
        """Return the state of workers and queues now; RequestFailed when the dispatcher does not answer."""
        answer = self._ask(StatusQuery(secrets.randbits(48)))
        assert isinstance(answer, Status)
        return answer

    def metrics(self) -> bytes:
        """Return the metrics in Prometheus's text format; RequestFailed when the dispatcher does not answer."""
        answer = self._ask(MetricsQuery(secrets.randbits(48)))
        assert isinstance(answer, Metrics)
        return answer.text

    def drain(self, *, closed: bool) -> None:
        """Take the whole service out of use, or back into it."""
        self._command(Drain(closed))

    def report(self, report: RequestReport) -> None:
        """Have an answered request counted. Reports wait while the dispatcher is away, a bounded number of them."""
        self._command(report)

    def _ask(self, question: StatusQuery | MetricsQuery) -> Status | Metrics:
        answer: queue.SimpleQueue[Status | Metrics] = queue.SimpleQueue()
        self._questions[question.query] = answer
        try:
            self._command(question)
            return answer.get(timeout=STATUS_TIMEOUT_S)
        except queue.Empty:
            raise RequestFailed(Code.NOT_READY, "the workers' half does not answer", retry_after_s=1.0) from None
        finally:
            self._questions.pop(question.query, None)

    def _command(self, message: FromGateway) -> None:
        self._commands.put(message)
        self._wake()

    def _wake(self) -> None:
        os.eventfd_write(self._wake_fd, 1)

    # The owner thread

    def _run(self) -> None:
        # In this thread: a ZeroMQ socket does not survive a fork, nor two threads.
        self._socket = DispatcherSocket(self._endpoint, self._wake_fd)
        next_beat_s = 0.0
        while not self._closing.is_set():
            now = time.monotonic()
            if now >= next_beat_s:
                next_beat_s = now + HEARTBEAT_S
                if not (self._send(self._alive()) if self.connected else self._greet()):
                    next_beat_s = now + RETRY_S
                self._look(now)
            self._socket.wait(next_beat_s - now)
            self._send_commands()
            self._receive()
        self._send_commands()
        self._send(Bye())
        self._socket.close()

    def _alive(self) -> Alive:
        return Alive(self._n_requests(), self._cache_use())

    def _send(self, message: FromGateway) -> bool:
        """Send; return False where nobody is connected, which is how a dispatcher's death shows first."""
        sent = self._socket.send(message)
        if not sent:
            self._lose("its socket is gone")
        return sent

    def _send_commands(self) -> None:
        try:
            os.eventfd_read(self._wake_fd)
        except BlockingIOError:
            pass
        while True:
            try:
                message = self._commands.get_nowait()
            except queue.Empty:
                return
            # A job sent while nobody is known to listen would reach the next dispatcher before its Hello; one sent to a
            # dispatcher that is leaving would come straight back.
            if isinstance(message, Submit) and not self._is_wanted(message.job.key):
                continue
            if isinstance(message, Submit) and not self._takes_jobs:
                self._hold(message)
            elif isinstance(message, Cancel) and message.key in self._held:
                del self._held[message.key]
            elif isinstance(message, RequestReport) and not self.connected:
                self._reports.append(message)
            elif not self._send(message):
                self._keep(message)

    def _is_wanted(self, key: JobKey) -> bool:
        """Return False for a job that was given up as lost before it was even sent."""
        channel = self._channels.get(key.request_id)
        return channel is not None and key in channel.outstanding

    def _keep(self, message: FromGateway) -> None:
        """Keep what could not be sent and is worth sending later."""
        if isinstance(message, Submit):
            self._hold(message)
        elif isinstance(message, RequestReport):
            self._reports.append(message)

    def _receive(self) -> None:
        for message, payload in self._socket.receive():
            try:
                self._handle(message, payload)
            except ProtocolError as error:
                logger.error("ignored a message of the dispatcher: %s", error)

    def _handle(self, message: ToGateway, payload: bytes) -> None:
        self._heard_s = time.monotonic()
        if isinstance(message, Chunk):
            if (channel := self._channels.get(message.key.request_id)) is not None:
                channel.put(Audio.of(message, payload))
        elif isinstance(message, Done | Failed | Cancelled):
            if (channel := self._channels.get(message.key.request_id)) is not None:
                channel.put(message)
        elif isinstance(message, Status | Metrics):
            if (answer := self._questions.get(message.query)) is not None:
                answer.put(message)
        elif isinstance(message, Catalogue):
            self._learn(message)
        elif isinstance(message, Welcome):
            self._welcomed(message.incarnation)
        elif isinstance(message, Beat):
            # After a Hello only its Welcome counts: an older Beat says nothing of what the dispatcher then does.
            if not self._greeting:
                self._found()
        elif isinstance(message, Introduce):
            self._lose("it does not know this gateway")
            self._greet()
        elif isinstance(message, Refused):
            self._refuse(message)

    def _greet(self) -> bool:
        """Begin anew with the dispatcher, which drops all that it may still have of this gateway's."""
        self._greeting = True
        return self._send(Hello(PROTOCOL_VERSION, __version__))

    def _welcomed(self, incarnation: str) -> None:
        self.refused = ""
        # The first Welcome of a row tells of the loss; what is submitted after it comes behind the other Hellos.
        if self._greeting or incarnation != self._incarnation:
            self._greeting = False
            self._fail_outstanding("the dispatcher was away or has been restarted", submitted=True)
        self._incarnation = incarnation
        self._found()

    def _found(self) -> None:
        if not self.connected:
            logger.info("connected to the dispatcher at %s", self._endpoint)
        self.connected, self._gave_up = True, False
        while self._reports and self._send(self._reports[0]):
            self._reports.popleft()
        self._send_held()

    def _learn(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self._heard_of_pools.set()
        # In the order of the settings; those that are being loaded again come last.
        known = {pool.name: pool for pool in catalogue.pools}
        self.pools = known | {name: pool for name, pool in self.pools.items() if name not in known}
        self._send_held()
        if catalogue.closed:
            # Whoever waits for the service to be empty needs today's number.
            self._send(self._alive())

    @property
    def _takes_jobs(self) -> bool:
        return self.connected and not (self.catalogue and self.catalogue.draining)

    def _hold(self, message: Submit) -> None:
        """Keep a job for the dispatcher's return, unless nobody waits for that any more."""
        key = message.job.key
        if not self._gave_up:
            self._held[key] = message
        elif (channel := self._channels.get(key.request_id)) is not None:
            channel.put(Failed(key, Code.NOT_READY, _NOT_BACK))

    def _send_held(self) -> None:
        while self._takes_jobs and self._held:
            key = next(iter(self._held))
            if self._send(self._held[key]):
                del self._held[key]

    def _lose(self, reason: str) -> None:
        if self.connected:
            logger.warning("lost the dispatcher: %s", reason)
            self.connected, self._lost_s = False, time.monotonic()

    def _look(self, now: float) -> None:
        """Notice silence, and let requests fail that have waited for too long."""
        if self.connected and now - self._heard_s > SILENCE_S:
            self._lose(f"silent for {now - self._heard_s:.0f} s")
        if not self.connected and not self._gave_up and now - self._lost_s > self._reconnect_timeout_s:
            self._gave_up = True
            self._held.clear()
            self._fail_outstanding(_NOT_BACK, submitted=False)

    def _fail_outstanding(self, reason: str, *, submitted: bool) -> None:
        """End every job: as lost, so that it is submitted again, or for good."""
        code = Code.DISPATCHER_LOST if submitted else Code.NOT_READY
        for channel in list(self._channels.values()):
            for key in list(channel.outstanding):
                if key not in self._held:
                    channel.put(Failed(key, code, reason))

    def _refuse(self, message: Refused) -> None:
        if self.refused != message.message:
            logger.error("refused by the dispatcher: %s", message.message)
            self.refused = message.message
            self._on_refused(message.message)
