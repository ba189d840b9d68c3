"""One request's audio, in text order: fans its segments out, puts them together, submits again what was lost.

Runs on the request's thread. This object alone knows which samples the client has, so it alone decides what to ask for
again: a segment whose worker died is submitted anew from the sample at which the stream stands.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import msgspec

from tts_service.errors import Code, RequestFailed
from tts_service.gateway.channel import Audio, Channel, Event
from tts_service.gateway.pcm import Float32, silence
from tts_service.gateway.utterance import Utterance, segment_seed
from tts_service.protocol import FLOAT32_BYTES, Done, Failed, Job, JobKey
from tts_service.settings import GatewaySettings

logger = logging.getLogger(__name__)

# How often a waiting request looks whether its client is still there.
LOOK_S = 0.1


@dataclass
class Segment:
    """A segment between its submission and its last sample's delivery."""

    job: Job
    chunks: deque[Float32] = field(default_factory=deque)
    n_received: int = 0
    """Samples that have come, delivered or not."""
    n_deaths: int = 0
    """Workers that died with it."""
    done: bool = False


@dataclass
class Account:
    """What a request has used, for its log line."""

    started_s: float
    segments: int = 0
    attempts: int = 0
    workers: set[int] = field(default_factory=set)
    queue_s: float = 0.0
    """Of the first segment."""
    first_audio_s: float | None = None
    """From the start to the first samples."""
    audio_s: float = 0.0
    compute_s: float = 0.0


class Speech:
    """Iterate `audio()` once; `close()` at the end, whatever happened."""

    def __init__(
        self,
        utterance: Utterance,
        pieces: Iterator[str],
        channel: Channel,
        settings: GatewaySettings,
        check_client: Callable[[], None],
    ) -> None:
        self.account = Account(time.monotonic())
        self._utterance = utterance
        self._pieces = enumerate(pieces)
        self._channel = channel
        self._settings = settings
        self._check_client = check_client
        self._open: deque[Segment] = deque()
        self._occurrences: Counter[str] = Counter()
        self._heard_s = time.monotonic()

    def audio(self) -> Iterator[Float32]:
        """Yield the samples, float32 mono at the engine's rate. RequestFailed or ClientGone ends it early."""
        pause = silence(self._settings.sentence_pause_s, self._rate_hz)
        self._fill()
        while self._open:
            head = self._open[0]
            while head.chunks:
                yield self._counted(head.chunks.popleft())
                self._heard_s = time.monotonic()
            if head.done:
                self._open.popleft()
                self._fill()
                if len(pause) and self._open:
                    yield self._counted(pause)
            else:
                self._wait()

    def close(self) -> None:
        """Cancel whatever is still being made."""
        self._channel.close()

    @property
    def _rate_hz(self) -> int:
        return self._utterance.pool.engine.sample_rate_hz

    def _counted(self, samples: Float32) -> Float32:
        if self.account.first_audio_s is None:
            self.account.first_audio_s = time.monotonic() - self.account.started_s
        self.account.audio_s += len(samples) / self._rate_hz
        return samples

    def _fill(self) -> None:
        """Submit segments until as many are open as may be ahead of the reader."""
        while len(self._open) < self._settings.segments_ahead and (piece := next(self._pieces, None)) is not None:
            segment = Segment(self._job(*piece))
            self._open.append(segment)
            self.account.segments += 1
            self._submit(segment)

    def _job(self, index: int, text: str) -> Job:
        utterance = self._utterance
        occurrence = self._occurrences[text]
        self._occurrences[text] += 1
        max_samples = round(self._settings.max_segment_s * self._rate_hz)
        return Job(
            key=JobKey(self._channel.name, index, 1),
            pool=utterance.pool.name,
            generation=utterance.pool.generation,
            voice=utterance.voice,
            text=text,
            language=utterance.language,
            speed=utterance.speed,
            seed=segment_seed(utterance.seed, text, occurrence),
            streamed=utterance.streamed,
            from_sample=0,
            max_samples=max_samples,
            deadline_s=time.monotonic() + self._settings.first_audio_target_s,
            credit_bytes=max_samples * FLOAT32_BYTES,
        )

    def _submit(self, segment: Segment) -> None:
        self.account.attempts += 1
        self._channel.submit(segment.job)

    def _wait(self) -> None:
        """Wait for one event; fail when the client is gone or nothing comes for too long."""
        self._check_client()
        event = self._channel.receive(LOOK_S)
        if event is not None:
            self._heard_s = time.monotonic()
            self._take(event)
        elif time.monotonic() - self._heard_s > self._settings.progress_timeout_s:
            limit_s = self._settings.progress_timeout_s
            raise RequestFailed(Code.TIMED_OUT, f"no worker has said anything about this request for {limit_s:g} s")

    def _take(self, event: Event) -> None:
        segment = next(segment for segment in self._open if segment.job.key == event.key)
        if isinstance(event, Audio):
            self._append(segment, event)
        elif isinstance(event, Done):
            self._finish(segment, event)
        elif isinstance(event, Failed):
            self._retry(segment, event)
        else:
            raise RequestFailed(Code.INTERNAL, "a segment was cancelled that this request still wants")

    def _append(self, segment: Segment, audio: Audio) -> None:
        if audio.from_sample != segment.n_received:
            raise RequestFailed(
                Code.INTERNAL, f"audio came from sample {audio.from_sample}, expected {segment.n_received}"
            )
        segment.n_received += len(audio.samples)
        segment.chunks.append(audio.samples)

    def _finish(self, segment: Segment, done: Done) -> None:
        if done.n_samples != segment.n_received:
            raise RequestFailed(Code.INTERNAL, f"{segment.n_received} of {done.n_samples} samples came")
        if segment.job.key.segment == 0:
            self.account.queue_s = done.queue_s
        self.account.workers.add(done.worker)
        self.account.compute_s += done.compute_s
        segment.done = True

    def _retry(self, segment: Segment, failure: Failed) -> None:
        """Submit the segment again from where it stands, where that can help; else fail."""
        code = Code(failure.code)
        key = segment.job.key
        segment.n_deaths += code is Code.WORKER_DIED
        if not code.resubmittable or segment.n_deaths >= self._settings.max_attempts:
            raise RequestFailed(code, failure.message, param=failure.param, retry_after_s=failure.retry_after_s)
        logger.info(
            "request %s: segment %d again from sample %d: %s",
            key.request_id,
            key.segment,
            segment.n_received,
            failure.message,
        )
        segment.job = _next_attempt(segment.job, segment.n_received)
        self._submit(segment)


def _next_attempt(job: Job, from_sample: int) -> Job:
    key = JobKey(job.key.request_id, job.key.segment, job.key.attempt + 1)
    return msgspec.structs.replace(job, key=key, from_sample=from_sample)
