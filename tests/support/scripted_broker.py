"""A stand-in for the client and the dispatcher behind it: a test says what each submitted job hears, and when.

Events are delivered by the thread that asks for them, so that their order is the test's and never a matter of luck.
Like the real thing it can answer late, out of order, twice, wrongly, or not at all.
"""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Callable

import numpy as np

from tts_service.errors import Code
from tts_service.gateway.channel import Audio, Channel, Event
from tts_service.gateway.pcm import Float32
from tts_service.protocol import Cancelled, Done, Failed, Job, JobKey, Word

SAMPLES_PER_CHAR = 100

Script = Callable[["ScriptedBroker", Job], None]


@functools.cache
def audio_of(text: str) -> Float32:
    """Return the samples that this broker's workers make of a text: no two stretches of them are alike."""
    draws = np.random.default_rng(zlib.crc32(text.encode()))
    return draws.uniform(-0.9, 0.9, SAMPLES_PER_CHAR * len(text)).astype(np.float32)


def words_of(text: str) -> tuple[Word, ...]:
    """Return the words that this broker's workers make of a text: every character lasts equally long."""
    spans = [match.span() for match in re.finditer(r"\w+", text)]
    return tuple(Word(start, end, SAMPLES_PER_CHAR * start, SAMPLES_PER_CHAR * end) for start, end in spans)


def answer_whole(broker: ScriptedBroker, job: Job) -> None:
    """Script: speak the whole job in two chunks, as far as it is wanted."""
    middle = max(job.from_sample, len(audio_of(job.text)) // 2)
    broker.speak(job, job.from_sample, middle)
    broker.speak(job, middle, None)
    broker.end(job)


class ScriptedBroker:
    """Runs `script` for every job that is submitted; a test may say more afterwards."""

    def __init__(self, script: Script = answer_whole) -> None:
        self.script = script
        self.posted: list[Job] = []
        self.withdrawn: list[JobKey] = []
        self.rekeyed: dict[JobKey, float] = {}
        self.forgotten: list[str] = []
        self._channels: dict[str, Channel] = {}

    def open(self, name: str) -> Channel:
        """Return a channel as the client does."""
        self._channels[name] = Channel(self, name)
        return self._channels[name]

    # Broker

    def post(self, channel: Channel, job: Job) -> None:
        self.posted.append(job)
        self.script(self, job)

    def rekey(self, key: JobKey, deadline_s: float) -> None:
        self.rekeyed[key] = deadline_s

    def withdraw(self, channel: Channel, keys: list[JobKey]) -> None:
        self.withdrawn += keys
        for key in keys:
            self._put(Cancelled(key))

    def forget(self, channel: Channel) -> None:
        self.forgotten.append(channel.name)
        self._channels.pop(channel.name, None)

    # What a job hears

    def speak(self, job: Job, start: int, stop: int | None) -> None:
        """Send samples `start` to `stop` of the job's audio."""
        self._put(Audio(job.key, job.generation, start, audio_of(job.text)[start:stop]))

    def end(self, job: Job, n_samples: int | None = None, *, worker: int = 0, queue_s: float = 0.0) -> None:
        """Send Done; without `n_samples`, for the whole of the audio."""
        length = len(audio_of(job.text)) if n_samples is None else n_samples
        done = Done(job.key, job.generation, length, 0.01, worker=worker, queue_s=queue_s, words=words_of(job.text))
        self._put(done)

    def fail(self, job: Job, code: Code, message: str = "as scripted", *, alone: bool = False) -> None:
        """Send Failed."""
        self._put(Failed(job.key, code, message, "input", 3.0, alone))

    def cancel(self, job: Job) -> None:
        """Send Cancelled, unasked."""
        self._put(Cancelled(job.key))

    def _put(self, event: Event) -> None:
        # The client drops what comes for a channel that is closed.
        if (channel := self._channels.get(event.key.request_id)) is not None:
            channel.put(event)
