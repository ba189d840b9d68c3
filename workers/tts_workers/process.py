"""A synthesis process, from its engine's load to its end. Everything happens on the process's main thread.

The engine is loaded and warmed up, and only then Ready is said. After that the thread goes round: messages → slots →
one piece of engine work → audio → heartbeat. The process starts in entry.py, which has taken the CPU set already.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from types import FrameType

import zmq

from tts_service import __version__
from tts_service.errors import ExitCode, ProcessMustEnd, ProtocolError
from tts_service.log import set_up
from tts_service.protocol import (
    PROTOCOL_VERSION,
    TO_WORKER,
    Assign,
    Cancel,
    Credit,
    FromWorker,
    Leaving,
    Phase,
    PhaseChange,
    Ready,
    Rekey,
    Report,
    Stop,
    ToWorker,
    Width,
    WorkerHello,
    decode,
    encode,
)
from tts_workers.core import SynthesisCore, payload
from tts_workers.engines import engine_class
from tts_workers.engines.base import Samples
from tts_workers.spec import WorkerSpec, generation_of
from tts_workers.warm_up import warm_up

logger = logging.getLogger(__name__)


class Link:
    """The worker's end of the socket to the dispatcher; owned by the compute thread."""

    def __init__(self, endpoint: str, identity: bytes) -> None:
        self._context = zmq.Context(io_threads=1)
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.identity = identity
        # Slot credits bound what is in flight; a high-water mark would only block the compute thread.
        self._socket.sndhwm = 0
        self._socket.rcvhwm = 0
        self._socket.linger = 1000
        self._socket.connect(endpoint)
        self._frames: list[bytes] = []

    def send(self, message: FromWorker, samples: Samples | None = None) -> None:
        """Put a message, a Chunk with its samples, into what `flush` sends."""
        self._frames.append(encode(message))
        if samples is not None:
            self._frames.append(payload(samples))

    def flush(self) -> None:
        """Send all at once: the dispatcher wakes up once for a step, not for each thing it has to hear of it."""
        if self._frames:
            # Copied on purpose: pyzmq keeps a thread for the buffers of zero-copy messages.
            self._socket.send_multipart(self._frames)
            self._frames = []

    def receive(self, timeout_s: float) -> list[ToWorker]:
        """Return the messages that are there, after waiting up to `timeout_s` for the first."""
        if not self._socket.poll(int(timeout_s * 1000)):
            return []
        messages: list[ToWorker] = []
        while True:
            try:
                messages.append(decode(TO_WORKER, self._socket.recv_multipart(zmq.NOBLOCK)[0]))
            except zmq.Again:
                return messages
            except ProtocolError as error:
                logger.error("ignored a message: %s", error)

    def close(self) -> None:
        """Send what is pending, for a second at most, and close."""
        self.flush()
        self._context.destroy(linger=1000)


class WorkerProcess:
    """One life of a synthesis process."""

    def __init__(self, spec: WorkerSpec, link: Link) -> None:
        self.spec = spec
        self.link = link
        self._phase = Phase.START
        self._last_report = 0.0
        self._stopping = False
        self._said_goodbye = False

    def run(self) -> None:
        """Serve until told to stop. ProcessMustEnd when the engine cannot be loaded or trusted."""
        self.link.send(WorkerHello(PROTOCOL_VERSION, __version__, self.spec.index, self.spec.incarnation, os.getpid()))
        core = self._bring_up()
        while not (self._stopping and core.slots.n_active == 0):
            self._enter(core.next_phase)
            self._leave_if_told()
            self.link.flush()
            for message in self.link.receive(self.spec.heartbeat_s if self._phase is Phase.IDLE else 0.0):
                self._handle(core, message)
            self._enter(core.next_phase)
            self.link.flush()
            n_done = core.stats().segments_done
            core.advance()
            self._report(core, at_once=core.stats().segments_done != n_done)

    def _leave_if_told(self) -> None:
        """Say once that no more jobs are wanted."""
        if self._stopping and not self._said_goodbye:
            self._said_goodbye = True
            self.link.send(Leaving())

    def _bring_up(self) -> SynthesisCore:
        self._enter(Phase.LOAD)
        self.link.flush()
        engine = engine_class(self.spec.engine)(self.spec.engine_options)
        engine.load()
        self._enter(Phase.WARM_UP)
        self.link.flush()
        pace = warm_up(engine)
        generation = generation_of(engine.info, self.spec.n_threads)
        core = SynthesisCore(engine, generation, self.spec.n_slots, self.link.send)
        cpus = sorted(os.sched_getaffinity(0))
        # A signal to the whole group asks for an orderly end, too: finish what is in the slots, then leave.
        signal.signal(signal.SIGTERM, self._note_signal)
        self.link.send(Ready(engine.info, generation, cpus, self.spec.n_threads, engine.runtime(), pace))
        self.link.send(Credit(self.spec.n_slots))
        self._enter(Phase.IDLE)
        return core

    def _note_signal(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True

    def _handle(self, core: SynthesisCore, message: ToWorker) -> None:
        if isinstance(message, Assign):
            core.assign(message.job)
        elif isinstance(message, Cancel):
            core.cancel(message.key)
        elif isinstance(message, Rekey):
            core.rekey(message.key, message.deadline_s)
        elif isinstance(message, Width):
            core.set_width(message.n_threads)
        elif isinstance(message, Stop):
            self._stopping = True

    def _enter(self, phase: Phase) -> None:
        """Tell the supervisor when the phase changes, since each has its own time limit."""
        if phase is not self._phase:
            self._phase = phase
            self.link.send(PhaseChange(phase))

    def _report(self, core: SynthesisCore, *, at_once: bool) -> None:
        now = time.monotonic()
        if at_once or now - self._last_report >= self.spec.heartbeat_s * 0.9:
            self._last_report = now
            self.link.send(Report(core.stats()))


def run(spec: WorkerSpec) -> int:
    """Run the process; return its exit code."""
    set_up(spec.log_level, f"worker {spec.index}")
    link = Link(spec.endpoint, spec.identity)
    try:
        WorkerProcess(spec, link).run()
    except ProcessMustEnd as error:
        logger.error("%s", error)
        return error.exit_code
    except Exception:
        logger.exception("unexpected error, this process ends")
        return ExitCode.ENGINE_BROKEN
    finally:
        link.close()
    return ExitCode.OK
