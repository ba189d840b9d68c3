"""Collects what a synthesis core or a worker sends, and puts it together per job."""

from __future__ import annotations

import itertools

import numpy as np

from tts_service.protocol import Cancelled, Chunk, Credit, Done, Failed, FromWorker, JobKey
from tts_workers.engines.base import NO_SAMPLES, Samples

Last = Done | Failed | Cancelled


class Outbox:
    """Its `send` is given to the core."""

    def __init__(self) -> None:
        self.messages: list[FromWorker] = []
        self._chunks: dict[JobKey, list[tuple[Chunk, Samples]]] = {}

    def send(self, message: FromWorker, samples: Samples | None) -> None:
        """Take a message; only chunks have samples."""
        assert isinstance(message, Chunk) == (samples is not None)
        self.messages.append(message)
        if isinstance(message, Chunk) and samples is not None:
            assert message.n_samples == len(samples) > 0
            # The engine may use its array again.
            self._chunks.setdefault(message.key, []).append((message, samples.copy()))

    def lasts(self, key: JobKey) -> list[Last]:
        """Return the last messages of a job: at most one is right."""
        return [message for message in self.messages if isinstance(message, Last) and message.key == key]

    def last(self, key: JobKey) -> Last:
        """Return the one last message of a job that has ended; nothing of the job comes after it."""
        of_job = [message for message in self.messages if isinstance(message, Chunk | Last) and message.key == key]
        (last,) = self.lasts(key)
        assert of_job[-1] is last
        return last

    def first_sample(self, key: JobKey) -> int | None:
        """Return where a job's audio begins, None where it has none."""
        chunks = self._chunks.get(key, [])
        return chunks[0][0].from_sample if chunks else None

    def audio(self, key: JobKey) -> Samples:
        """Return a job's audio so far; its chunks must join without a gap."""
        chunks = self._chunks.get(key, [])
        for (before, _), (after, _) in itertools.pairwise(chunks):
            assert after.from_sample == before.from_sample + before.n_samples
        return np.concatenate([samples for _, samples in chunks]) if chunks else NO_SAMPLES

    @property
    def n_credits(self) -> int:
        """Slots given back so far."""
        return sum(message.n_slots for message in self.messages if isinstance(message, Credit))
