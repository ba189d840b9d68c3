"""One request's line to the dispatcher: jobs out, events in. Used by the request's thread, fed by the client's."""

from __future__ import annotations

import queue
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tts_service.errors import ProtocolError
from tts_service.gateway.pcm import Float32
from tts_service.protocol import FLOAT32_BYTES, Cancelled, Chunk, Done, Failed, Job, JobKey


@dataclass(frozen=True)
class Audio:
    """A piece of a segment."""

    key: JobKey
    generation: str
    from_sample: int
    """Offset of the first sample from the start of the segment."""
    samples: Float32
    """(n,) float32 mono, read-only."""

    @classmethod
    def of(cls, chunk: Chunk, payload: bytes) -> Audio:
        """Return the audio of a message, which shares the payload's memory. ProtocolError where samples are missing."""
        if len(payload) != chunk.n_samples * FLOAT32_BYTES:
            raise ProtocolError(f"{len(payload)} bytes of audio came where {chunk.n_samples} samples were announced")
        return cls(chunk.key, chunk.generation, chunk.from_sample, np.frombuffer(payload, "<f4"))


Event = Audio | Done | Failed | Cancelled


class Broker(Protocol):
    """What a channel needs of the process's client."""

    def post(self, channel: Channel, job: Job) -> None:
        """Submit a job; its events come to `channel.put`."""

    def rekey(self, key: JobKey, deadline_s: float) -> None:
        """Give a job another deadline."""

    def withdraw(self, channel: Channel, keys: list[JobKey]) -> None:
        """Cancel jobs."""

    def forget(self, channel: Channel) -> None:
        """Drop whatever still comes for the channel."""


class Channel:
    """Events of the jobs that one request has submitted. `outstanding` holds those without a last event."""

    def __init__(self, broker: Broker, name: str) -> None:
        self.name = name
        """Unique in this process; the `request_id` of all its job keys."""
        self.outstanding: set[JobKey] = set()
        self._broker = broker
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()

    def submit(self, job: Job) -> None:
        """Ask for a segment."""
        self.outstanding.add(job.key)
        self._broker.post(self, job)

    def rekey(self, key: JobKey, deadline_s: float) -> None:
        """Give an outstanding job another deadline."""
        self._broker.rekey(key, deadline_s)

    def receive(self, timeout_s: float) -> Event | None:
        """Return the next event of a job that is outstanding, or None after `timeout_s` seconds."""
        try:
            event = self._events.get(timeout=timeout_s)
        except queue.Empty:
            return None
        if event.key not in self.outstanding:
            return None
        if not isinstance(event, Audio):
            self.outstanding.discard(event.key)
        return event

    def put(self, event: Event) -> None:
        """Hand in an event; called by the client's thread."""
        self._events.put(event)

    def close(self) -> None:
        """Cancel what is outstanding and hear no more. May be called twice."""
        if self.outstanding:
            self._broker.withdraw(self, sorted(self.outstanding, key=lambda key: key.segment))
            self.outstanding.clear()
        self._broker.forget(self)
