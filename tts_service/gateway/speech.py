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
import numpy as np

from tts_service.errors import SUSPICIOUS, Code, RequestFailed
from tts_service.gateway.budget import AudioBudget
from tts_service.gateway.channel import Audio, Channel, Event
from tts_service.gateway.pacing import WORTH_TELLING_S, Pace, priority_delay_s
from tts_service.gateway.pcm import Float32, silence
from tts_service.gateway.result_cache import ResultCache
from tts_service.gateway.spoken_words import SpokenSegment, spoken_segment
from tts_service.gateway.utterance import Utterance, segment_seed
from tts_service.protocol import FLOAT32_BYTES, Done, Failed, Job, JobKey, Word
from tts_service.settings import GatewaySettings
from tts_service.text.segment import NOTHING_YET, SegmentText

logger = logging.getLogger(__name__)

# How often a waiting request looks whether its client is still there.
LOOK_S = 0.1
_NO_SAMPLES = np.zeros(0, np.float32)
# Cached audio is handed on in such pieces, as an engine's would be.
CACHED_PIECE_S = 0.5


@dataclass
class Segment:
    """A segment between its submission and its last sample's delivery."""

    job: Job
    text: SegmentText
    room_bytes: int
    """Reserved in the process's audio budget."""
    chunks: deque[Float32] = field(default_factory=deque)
    n_received: int = 0
    """Samples that have come, delivered or not."""
    n_deaths: float = 0
    """Workers that died while they had it alone; one that somebody killed counts half."""
    begun: bool = False
    """Its samples, or the pause before them, are being delivered."""
    done: bool = False
    kept: list[Float32] | None = None
    """All chunks so far of a segment that the cache shall have."""
    words: tuple[Word, ...] = ()
    first_sample: int = 0
    """Where it begins in the request, known once it has begun."""


@dataclass
class Account:
    """What a request has used, for its log line."""

    started_s: float
    segments: int = 0
    attempts: int = 0
    continuations: int = 0
    """Attempts that went on in the middle of a segment."""
    workers: set[int] = field(default_factory=set)
    queue_s: float = 0.0
    """Of the first segment."""
    first_audio_s: float | None = None
    """From the start to the first samples."""
    audio_s: float = 0.0
    compute_s: float = 0.0
    underruns: int = 0
    """Times that the listener of a stream ran dry."""
    dry_s: float = 0.0
    """For how long in all."""
    cached: int = 0
    """Segments that came from the cache."""
    not_cached: int = 0
    """Segments that were looked for there in vain."""
    evictions: int = 0
    """Entries that had to leave for this request's segments."""


class Speech:
    """Iterate `audio()` once; `close()` at the end, whatever happened."""

    def __init__(
        self,
        utterance: Utterance,
        pieces: Iterator[SegmentText],
        channel: Channel,
        settings: GatewaySettings,
        budget: AudioBudget,
        check_client: Callable[[], None],
        cache: ResultCache | None = None,
        *,
        keep_words: bool = False,
        encoding_s_per_audio_s: float = 0.0,
    ) -> None:
        now = time.monotonic()
        self.account = Account(now)
        self.words: list[SpokenSegment] = []
        """With `keep_words`: each segment, once all of it has come and before its last samples are handed out."""
        self._keep_words = keep_words
        self._n_samples = 0
        self._utterance = utterance
        self._pieces = pieces
        self._next = next(self._pieces, None)
        self._index = 0
        self.in_turns = False
        """True where its reader has other speeches to go on with: it hears of every wait."""
        self._channel = channel
        self._settings = settings
        self._budget = budget
        self._check_client = check_client
        self._cache = None if utterance.random_seed else cache
        self._open: deque[Segment] = deque()
        self._occurrences: Counter[str] = Counter()
        self._heard_s = now
        self._waited = False
        self._give_up_s = now + utterance.timeout_s if utterance.timeout_s else 0.0
        self._encoding_s_per_audio_s = encoding_s_per_audio_s
        audio_s_per_char = utterance.pool.audio_s_per_char / utterance.speed / utterance.stretch
        self._pace = Pace(
            arrived_s=now,
            streamed=utterance.streamed,
            target_s=settings.first_audio_target_s,
            delay_s=priority_delay_s(utterance.priority),
            work_s=len(utterance.text) * (utterance.pool.work_s_per_char + audio_s_per_char * encoding_s_per_audio_s),
            slack=settings.buffered_slack,
            audio_s_per_char=audio_s_per_char,
        )

    def audio(self) -> Iterator[Float32]:
        """Yield the samples, float32 mono at the engine's rate. RequestFailed or ClientGone ends it early.

        While the text is still coming, no samples (0,) stand for "nothing at the moment", so that its reader can go on
        with something else meanwhile.
        """
        self._fill()
        while self._open or self._next is not None:
            if self._next is NOTHING_YET:
                yield _NO_SAMPLES
                self._look_for_text()
            if not self._open:
                continue
            head = self._open[0]
            if not head.begun:
                head.begun = True
                yield from self._pause(head.text.pause_before_s)
                head.first_sample = self._n_samples
            self._note_words(head)
            while head.chunks:
                yield self._counted(head.chunks.popleft())
                self._heard_s = time.monotonic()
            if head.done:
                self._budget.give(self._open.popleft().room_bytes)
                self._fill()
                yield from self._pause(head.text.pause_after_s)
            else:
                self._wait()
                if self.in_turns:
                    yield _NO_SAMPLES

    def _pause(self, seconds: float) -> Iterator[Float32]:
        """Yield silence, in pieces that are no longer than an engine's."""
        samples = silence(seconds, self._heard_rate_hz)
        for start in range(0, len(samples), self._rate_hz):
            yield self._counted(samples[start : start + self._rate_hz])

    def _note_words(self, head: Segment) -> None:
        if head.done and self._keep_words:
            index = head.job.key.segment
            self.words.append(spoken_segment(index, head.text, head.first_sample, head.n_received, head.words))

    def close(self) -> None:
        """Cancel whatever is still being made."""
        self._channel.close()
        while self._open:
            self._budget.give(self._open.popleft().room_bytes)

    @property
    def is_idle(self) -> bool:
        """Return True where all text that has come so far has been spoken."""
        return not self._open

    @property
    def _has_text(self) -> bool:
        return self._next is not None and self._next is not NOTHING_YET

    @property
    def _rate_hz(self) -> int:
        return self._utterance.pool.engine.sample_rate_hz

    @property
    def _heard_rate_hz(self) -> float:
        """Of the engine's samples, how many a listener hears in a second."""
        return self._rate_hz * self._utterance.stretch

    def _counted(self, samples: Float32) -> Float32:
        now = time.monotonic()
        if self.account.first_audio_s is None:
            self._check_time()
            self.account.first_audio_s = now - self.account.started_s
        if self._utterance.streamed:
            dry_s = self._pace.delivered(now, self.account.audio_s, waited=self._waited)
            self.account.underruns += dry_s > 0
            self.account.dry_s += dry_s
        self._waited = False
        self.account.audio_s += len(samples) / self._heard_rate_hz
        self._n_samples += len(samples)
        return samples

    def _look_for_text(self) -> None:
        self._next = next(self._pieces, None)
        if not self._open:
            # The listener waits for whoever writes the text, and for nobody here.
            now = self._heard_s = time.monotonic()
            self._pace.paused(now, self.account.audio_s)
        self._fill()

    def _fill(self) -> None:
        """Submit segments until as many are open as may be ahead of the reader, and as the budget has room for."""
        while self._has_text and len(self._open) < self._settings.segments_ahead:
            index, piece = self._index, self._next
            assert piece is not None
            text = piece.text
            expected_s = len(text) * self._pace.audio_s_per_char
            room_bytes = round(expected_s * self._heard_rate_hz) * FLOAT32_BYTES
            if not self._budget.take(room_bytes, must=not self._open):
                return
            self._pace.add(len(text))
            self._next = next(self._pieces, None)
            segment = Segment(self._job(index, piece, room_bytes), piece, room_bytes)
            self._open.append(segment)
            self.account.segments += 1
            if not self._recall(segment):
                self._submit(segment)
            self._index += 1

    def _job(self, index: int, piece: SegmentText, room_bytes: int) -> Job:
        utterance = self._utterance
        text = piece.text
        occurrence = self._occurrences[text]
        self._occurrences[text] += 1
        return Job(
            key=JobKey(self._channel.name, index, 1),
            pool=utterance.pool.name,
            generation=utterance.pool.generation,
            voice=utterance.voice,
            text=text,
            language=utterance.language,
            speed=utterance.speed * piece.speed,
            seed=segment_seed(utterance.seed, text, occurrence),
            streamed=utterance.streamed,
            from_sample=0,
            max_samples=round(self._settings.max_segment_s * self._rate_hz),
            arrived_s=self._pace.arrived_s,
            deadline_s=self._pace.deadline_s(index),
            client=utterance.client,
            alone=False,
            give_up_s=self._give_up_s,
            credit_bytes=room_bytes,
            lone=self._next is None and not self._open,
            encoding_s=len(text) * self._pace.audio_s_per_char * self._encoding_s_per_audio_s,
        )

    def _recall(self, segment: Segment) -> bool:
        """Take the segment's audio from the cache; return False where a worker has to make it."""
        if self._cache is None:
            return False
        found = self._cache.get(segment.job, self._utterance.pool)
        if found is None:
            self.account.not_cached += 1
            segment.kept = []
            return False
        samples, segment.words = found.samples, found.words
        self.account.cached += 1
        # Its length is known now. At worst the budget is exceeded by one segment, as for the first of a request.
        self._budget.take(samples.nbytes - segment.room_bytes, must=True)
        segment.room_bytes = samples.nbytes
        n_piece = round(CACHED_PIECE_S * self._rate_hz)
        segment.chunks.extend(samples[start : start + n_piece] for start in range(0, len(samples), n_piece))
        segment.n_received = len(samples)
        segment.done = True
        self._pace.ended(segment.job.key.segment, len(samples) / self._heard_rate_hz)
        return True

    def _keep(self, segment: Segment) -> None:
        """Give a finished segment to the cache."""
        if self._cache is not None and segment.kept:
            samples = np.concatenate(segment.kept)
            self.account.evictions += self._cache.put(segment.job, self._utterance.pool, samples, segment.words)
        segment.kept = None

    def _submit(self, segment: Segment) -> None:
        self.account.attempts += 1
        self._channel.submit(segment.job)

    def _wait(self) -> None:
        """Wait for one event; fail when the client is gone or nothing comes for too long."""
        self._check_client()
        self._check_time()
        event = self._channel.receive(LOOK_S)
        self._waited = True
        if event is not None:
            self._heard_s = time.monotonic()
            self._take(event)

    def _check_time(self) -> None:
        now = time.monotonic()
        limit_s = self._settings.progress_timeout_s
        if now - self._heard_s > limit_s:
            raise RequestFailed(Code.TIMED_OUT, f"no worker has said anything about this request for {limit_s:g} s")
        wanted = not self._utterance.streamed or self.account.first_audio_s is None
        if self._give_up_s and wanted and now > self._give_up_s:
            message = f"timeout = {self._utterance.timeout_s:g}: the audio was not ready by then"
            raise RequestFailed(Code.TIMED_OUT, message, param="timeout")

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
        if segment.kept is not None:
            segment.kept.append(audio.samples)

    def _finish(self, segment: Segment, done: Done) -> None:
        if done.n_samples != segment.n_received:
            raise RequestFailed(Code.INTERNAL, f"{segment.n_received} of {done.n_samples} samples came")
        index = segment.job.key.segment
        if index == 0:
            self.account.queue_s = done.queue_s
        self.account.workers.add(done.worker)
        self.account.compute_s += done.compute_s
        segment.done = True
        segment.words = done.words
        self._pace.ended(index, done.n_samples / self._heard_rate_hz)
        self._tell_deadlines()
        self._keep(segment)

    def _tell_deadlines(self) -> None:
        """Tell the queue where the real length of a segment has moved the deadlines of those after it."""
        for segment in self._open:
            deadline_s = self._pace.deadline_s(segment.job.key.segment)
            if not segment.done and abs(deadline_s - segment.job.deadline_s) > WORTH_TELLING_S:
                segment.job = msgspec.structs.replace(segment.job, deadline_s=deadline_s)
                self._channel.rekey(segment.job.key, deadline_s)

    def _retry(self, segment: Segment, failure: Failed) -> None:
        """Submit the segment again from where it stands, where that can help; else fail."""
        code = Code(failure.code)
        key = segment.job.key
        if code is Code.WORKER_DIED and failure.alone:
            segment.n_deaths += 0.5 if failure.killed else 1
        if not code.resubmittable:
            raise RequestFailed(code, failure.message, param=failure.param, retry_after_s=failure.retry_after_s)
        if segment.n_deaths >= self._settings.max_attempts:
            message = f"this text ended {key.attempt} workers that had nothing else to do; the last: {failure.message}"
            raise RequestFailed(Code.POISONOUS_TEXT, message, param="input")
        logger.info(
            "request %s: segment %d again from sample %d: %s",
            key.request_id,
            key.segment,
            segment.n_received,
            failure.message,
        )
        self.account.continuations += segment.n_received > 0
        segment.job = msgspec.structs.replace(
            segment.job,
            key=JobKey(key.request_id, key.segment, key.attempt + 1),
            from_sample=segment.n_received,
            alone=segment.job.alone or code in SUSPICIOUS,
            lone=self._next is None and len(self._open) == 1,
        )
        self._submit(segment)
