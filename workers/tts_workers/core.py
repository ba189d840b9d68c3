"""The core of a synthesis process: jobs in, messages out, one piece of engine work at a time. Knows no socket.

Runs on the process's one compute thread, which also owns it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

import msgspec
import numpy as np

from tts_service.errors import Code, EngineBroken, RequestFailed
from tts_service.protocol import (
    FLOAT32_BYTES,
    Cancelled,
    Chunk,
    Credit,
    Done,
    Failed,
    FromWorker,
    Job,
    JobKey,
    Phase,
    WorkerStats,
)
from tts_workers.busy import BusyMeter, StepCounts
from tts_workers.engines.base import Engine, Output, Samples
from tts_workers.slots import Slot, SlotState, SlotTable

logger = logging.getLogger(__name__)

Send = Callable[[FromWorker, Samples | None], None]


class SynthesisCore:
    """Holds the slots and drives the engine."""

    def __init__(self, engine: Engine, generation: str, n_slots: int, send: Send) -> None:
        self.engine = engine
        self.generation = generation
        self.slots = SlotTable(n_slots)
        self.meter = BusyMeter()
        self._send = send
        self._segments_done = 0
        self._n_samples = 0
        self._steps = StepCounts()

    @property
    def next_phase(self) -> Phase:
        """What `advance` would do now."""
        if self.slots.to_prepare() is not None:
            return Phase.PREPARE
        return Phase.STEP if self.slots.n_active else Phase.IDLE

    def assign(self, job: Job) -> None:
        """Take a job into a free slot, or answer at once why not."""
        if job.generation and job.generation != self.generation:
            error = RequestFailed(Code.GENERATION_CHANGED, "the model was replaced while the request was in progress")
            self._send(failed(job.key, error), None)
            self._send(Credit(1), None)
            return
        self.slots.add(job)

    def cancel(self, key: JobKey) -> None:
        """Drop a job that is in a slot. One that has just ended has had its last message already."""
        slot = self.slots.find(key)
        if slot is not None:
            self._end(slot, Cancelled(key))

    def rekey(self, key: JobKey, deadline_s: float) -> None:
        """Give a job in a slot another deadline, which decides when its turn is."""
        slot = self.slots.find(key)
        if slot is not None and slot.job is not None:
            slot.job = msgspec.structs.replace(slot.job, deadline_s=deadline_s)

    def set_width(self, n_threads: int) -> None:
        """Compute on so many threads from the next step on."""
        self.engine.set_width(n_threads)

    def advance(self) -> None:
        """Prepare one segment, else make one engine step, else do nothing. EngineBroken ends the process."""
        slot = self.slots.to_prepare()
        if slot is not None:
            self._prepare(slot)
        elif self.slots.n_active:
            self._step(self.slots.to_step(all_of_them=self.engine.info.stepping == "batched"))

    def stats(self) -> WorkerStats:
        """Return the counters as they stand."""
        return WorkerStats(
            slots_active=self.slots.n_active,
            segments_done=self._segments_done,
            steps=self._steps.n,
            step_seconds=self._steps.seconds,
            step_counts=list(self._steps.counts),
            audio_seconds=self._n_samples / self.engine.info.sample_rate_hz,
            busy_seconds=self.meter.busy_s,
            cpu_seconds=self.meter.cpu_s,
            effective_cores=self.meter.effective_cores,
        )

    def _prepare(self, slot: Slot) -> None:
        job = slot.job
        assert job is not None
        started = time.monotonic()
        try:
            with self.meter:
                slot.sequence = self.engine.start(job)
        except EngineBroken:
            raise
        except RequestFailed as error:
            self._end(slot, failed(job.key, error))
            return
        except Exception:
            logger.exception("request %s: engine failed to prepare segment %d", job.key.request_id, job.key.segment)
            self._end(slot, failed(job.key, _ENGINE_FAILED))
            return
        slot.compute_s += time.monotonic() - started
        slot.state = SlotState.RUNNING

    def _step(self, slots: list[Slot]) -> None:
        started = time.monotonic()
        try:
            with self.meter:
                outputs = self.engine.step([slot.sequence for slot in slots if slot.sequence is not None])
        except EngineBroken:
            raise
        except Exception:
            logger.exception("engine failed in a step of %d segments", len(slots))
            for slot in slots:
                self._fail(slot, _ENGINE_FAILED if len(slots) == 1 else _ENGINE_FAILED_TOGETHER)
            return
        step_s = time.monotonic() - started
        self._steps.add(step_s)
        share_s = step_s / len(slots)
        by_sequence = {id(output.sequence): output for output in outputs}
        for slot in slots:
            slot.compute_s += share_s
            self._deliver(slot, by_sequence.get(id(slot.sequence)))

    def _deliver(self, slot: Slot, output: Output | None) -> None:
        """Send what a step made for a slot, as far as it is wanted, and end the slot where the step was its last."""
        job = slot.job
        assert job is not None
        if output is None or output.error is not None:
            self._fail(slot, output.error if output and output.error else _ENGINE_FAILED)
            return
        samples = output.samples
        if not np.isfinite(samples).all():
            logger.error("request %s: segment %d has samples that are no numbers", job.key.request_id, job.key.segment)
            self._fail(slot, _ENGINE_FAILED)
            return
        first = slot.n_made
        slot.n_made += len(samples)
        self._n_samples += len(samples)
        if slot.n_made > job.max_samples:
            self._fail(slot, _too_long(job, self.engine.info.sample_rate_hz))
            return
        wanted = samples[max(0, job.from_sample - first) :]
        if len(wanted):
            self._send(Chunk(job.key, self.generation, slot.n_made - len(wanted), len(wanted)), wanted)
        if output.finished:
            self._segments_done += 1
            words = slot.sequence.words if slot.sequence is not None else ()
            self._end(slot, Done(job.key, self.generation, slot.n_made, slot.compute_s, words=words))

    def _fail(self, slot: Slot, error: RequestFailed) -> None:
        assert slot.job is not None
        self._end(slot, failed(slot.job.key, error))

    def _end(self, slot: Slot, last_message: FromWorker) -> None:
        """Send a job's last message, release what the engine holds for it, and give the slot back."""
        slot.state = SlotState.DRAINING
        if slot.sequence is not None:
            self.engine.release(slot.sequence)
        self._send(last_message, None)
        self.slots.free(slot)
        self._send(Credit(1), None)


def failed(key: JobKey, error: RequestFailed) -> Failed:
    """Return the message that ends a job with `error`."""
    return Failed(key, error.code, error.message, error.param, error.retry_after_s)


def payload(samples: Samples) -> bytes:
    """Return the second frame of a Chunk: little-endian float32, FLOAT32_BYTES a sample."""
    data = np.ascontiguousarray(samples, "<f4").tobytes()
    assert len(data) == len(samples) * FLOAT32_BYTES
    return data


def _too_long(job: Job, rate_hz: int) -> RequestFailed:
    limit_s = job.max_samples / rate_hz
    return RequestFailed(
        Code.AUDIO_TOO_LONG, f"a segment of {len(job.text)} characters is longer than {limit_s:.0f} s", param="input"
    )


_ENGINE_FAILED_TOGETHER = RequestFailed(
    Code.ENGINE_FAILED_TOGETHER, "the engine failed in a step of several texts; the server's log says more"
)
_ENGINE_FAILED = RequestFailed(Code.ENGINE_FAILED, "the engine failed on this text; the server's log says more")
