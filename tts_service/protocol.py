"""The typed messages between gateway, dispatcher and synthesis processes, and their encoding.

A message is one MessagePack frame; a `Chunk` is followed by a second frame of raw little-endian float32 samples. A
worker may send several messages in one ZeroMQ message.
Every `Submit` ends in exactly one of `Done`, `Failed`, `Cancelled`. `JobKey.attempt` makes late chunks of a dead
attempt recognisable, `generation` names the engine and model files that the audio must come from.
Times called *deadline* are on CLOCK_MONOTONIC, which all processes of one machine share.
"""

from __future__ import annotations

import enum
from typing import Literal, TypeVar

import msgspec

from tts_service.errors import ProtocolError

PROTOCOL_VERSION = 1
FLOAT32_BYTES = 4
# Upper bounds of the buckets in which workers count their engine steps; a last bucket holds the longer ones.
STEP_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class JobKey(msgspec.Struct, frozen=True, array_like=True):
    """Names one attempt at one segment."""

    request_id: str
    segment: int
    """Index of the segment in text order, from 0."""
    attempt: int
    """1 for the first submission; counted by the gateway."""


class Job(msgspec.Struct, frozen=True):
    """One segment of text to synthesize, with everything its audio depends on."""

    key: JobKey
    pool: str
    generation: str
    """Model generation the audio must come from; "" takes the pool's present one."""
    voice: str
    text: str
    language: str
    """BCP 47 tag, "" for the voice's own."""
    speed: float
    """Speaking rate, 1.0 is the voice's own."""
    seed: int
    """Seed of this segment, 0 to 2**63 - 1."""
    streamed: bool
    """The mode of the request; engines with window plans may depend on it, and on nothing else about the delivery."""
    from_sample: int
    """First sample wanted; earlier ones were delivered by an earlier attempt."""
    max_samples: int
    """A segment that grows longer fails with `audio_too_long`."""
    arrived_s: float
    """Monotonic time at which the request came."""
    deadline_s: float
    """Monotonic time by which the first wanted sample should exist; the queue is ordered by it."""
    client: str
    """Whose share of the pool it counts against."""
    alone: bool
    """True for a job that was running when a worker died: nothing runs beside it, so that its fault shows."""
    give_up_s: float
    """Monotonic time after which nobody wants it; 0 for none. A request that cannot be served by then is refused."""
    credit_bytes: int
    """Bytes of float32 audio that the gateway has room for."""
    lone: bool = False
    """True where the request has no other segment to be made: it gains from a worker that is wide."""
    encoding_s: float = 0.0
    """CPU seconds that the gateway expects to need for finishing and encoding its audio."""


class Voice(msgspec.Struct, frozen=True, omit_defaults=True):
    """A voice that an engine can speak with."""

    id: str
    name: str
    languages: list[str]
    """BCP 47 tags."""
    note: str = ""
    """What is unusual about how it runs, in words."""
    word_times: bool = True
    """False where it does not say when words are spoken, though others of its engine do."""


class EngineInfo(msgspec.Struct, frozen=True):
    """What an engine is and can do; fixed once it is loaded."""

    name: str
    model_hash: str
    """Hex digest over model files and everything else in the engine that the audio depends on."""
    sample_rate_hz: int
    voices: list[Voice]
    default_voice: str
    max_segment_chars: int
    """Longest text of one job, in characters."""
    scripts: list[str]
    """Scripts whose letters the engine can speak, as Unicode character names begin: LATIN; empty for any."""
    stepping: Literal["turns", "batched"]
    """`turns`: step() takes one sequence, the most urgent; `batched`: step() takes all of them."""
    longest_step_s: float
    """Expected length of the longest step on a free CPU."""
    thread_invariant: bool
    """True where the samples do not depend on the number of threads."""
    min_speed: float
    max_speed: float
    mode_invariant: bool = False
    """True where the samples are the same for streams and for answers in one piece."""
    reads: list[str] = []
    """Steps of the text front end that the engine does itself, so that its texts are left alone there; or `all`."""
    raw_phonemes: bool = False
    """True where a text may have phonemes of the IPA in [[ ]]."""
    word_times: bool = False
    """True where it says when words are spoken; a voice that runs whole does not."""


class Word(msgspec.Struct, frozen=True, array_like=True):
    """A word of a segment, and when it is spoken."""

    text_start: int
    """Its first character in the segment's text."""
    text_end: int
    """The one after its last."""
    start_sample: int
    """Offset from the start of the segment."""
    end_sample: int


class PoolInfo(msgspec.Struct, frozen=True):
    """A pool as the gateway needs to know it."""

    name: str
    engine: EngineInfo
    generation: str
    default_voice: str
    default_seed: int
    """-1 asks for a random seed."""
    n_workers: int
    n_ready: int
    n_slots: int
    """Slots of all workers together."""
    work_s_per_char: float
    """Expected engine time of a character of text."""
    audio_s_per_char: float
    """Expected length of a character of text at speed 1."""


class Phase(enum.StrEnum):
    """What a synthesis process is doing; each phase has its own time limit."""

    START = "start"
    LOAD = "load"
    WARM_UP = "warm_up"
    IDLE = "idle"
    PREPARE = "prepare"
    STEP = "step"


class WorkerStats(msgspec.Struct, frozen=True):
    """Counters of one synthesis process since it started."""

    slots_active: int = 0
    segments_done: int = 0
    steps: int = 0
    audio_seconds: float = 0.0
    busy_seconds: float = 0.0
    """Wall time spent in the engine."""
    cpu_seconds: float = 0.0
    """CPU time of all threads while in the engine."""
    effective_cores: float = 0.0
    """CPU time over wall time of the recent busy time."""
    step_seconds: float = 0.0
    """Wall time of all steps."""
    step_counts: list[int] = msgspec.field(default_factory=lambda: [0] * (len(STEP_BUCKETS_S) + 1))
    """Steps in each bucket of STEP_BUCKETS_S, and longer ones."""


class Runtime(msgspec.Struct, frozen=True):
    """What a worker's engine really computes with, asked of it and not of the plan."""

    intra_op_threads: int
    """The calling thread included."""
    spinning: bool
    """True where pool threads spin while they wait."""


class Pace(msgspec.Struct, frozen=True):
    """How fast an engine was with one text."""

    n_chars: int
    work_s: float
    """Engine time."""
    audio_s: float


class WorkerStatus(msgspec.Struct, frozen=True):
    """One entry of `GET /workers`."""

    index: int
    pool: str
    pid: int
    state: str
    """starting, loading, warming, ready, stopping or dead."""
    phase: Phase
    engine: str
    cpus: list[int]
    threads: int
    """Intra-op thread budget."""
    live_threads: int
    slots: dict[str, int]
    """total and active."""
    effective_cores: float
    rss_bytes: int
    voluntary_switches: int
    """Of all live threads, since the process started."""
    restarts: int
    last_exit: str
    """Why the previous process ended; "" where there was none."""
    segments_done: int
    audio_seconds: float
    busy_seconds: float
    cpu_seconds: float
    pss_bytes: int
    faults: list[str]
    """Ways in which the process differs from its plan, in words."""
    exits: dict[str, int]
    """Ends of the processes of this index, by cause."""
    steps: int
    step_seconds: float
    step_counts: list[int]
    wide: bool = False
    """True for the pool's worker that has all its CPUs, for lone segments."""


class PoolStatus(msgspec.Struct, frozen=True):
    """The queue of one pool, in `GET /workers`."""

    name: str
    queued: int
    queue_limit: int
    running: int
    oldest_s: float
    """How long the first job has waited."""


# Gateway to dispatcher


class Hello(msgspec.Struct, frozen=True, tag=True):
    """First message of a gateway process."""

    protocol: int
    package: str
    """Version of the tts-service package."""


class Submit(msgspec.Struct, frozen=True, tag=True):
    """Asks for one segment's audio."""

    job: Job


class Cancel(msgspec.Struct, frozen=True, tag=True):
    """Nobody wants this job any more. To the dispatcher, and on to the worker that has it."""

    key: JobKey


class Rekey(msgspec.Struct, frozen=True, tag=True):
    """The job has another deadline: its stream's listener runs dry at another time. On to the worker that has it."""

    key: JobKey
    deadline_s: float


class StatusQuery(msgspec.Struct, frozen=True, tag=True):
    """Asks for a `Status`."""

    query: int
    """Echoed in the answer."""


class MetricsQuery(msgspec.Struct, frozen=True, tag=True):
    """Asks for a `Metrics`."""

    query: int
    """Echoed in the answer."""


class RequestReport(msgspec.Struct, frozen=True, tag=True):
    """One answered request, for the metrics. The last fields are those of speech requests."""

    route: str
    outcome: str
    """complete, client_gone, or an error's code."""
    duration_s: float
    n_bytes: int = 0
    """Of the body."""
    pool: str = ""
    response_format: str = ""
    streamed: bool = False
    characters: int = 0
    audio_s: float = 0.0
    first_audio_s: float | None = None
    encoder_s: float = 0.0
    retries: int = 0
    """Submissions after the first of each segment."""
    continuations: int = 0
    """Of those, the ones that went on in the middle of a segment."""
    underruns: int = 0
    """Times that the listener of a stream ran dry."""
    dry_s: float = 0.0
    """For how long in all."""
    cache_hits: int = 0
    """Segments that came from the cache."""
    cache_misses: int = 0
    """Segments that were looked for there in vain."""
    cache_evictions: int = 0
    """Entries that had to leave for this request's segments."""


class CacheUse(msgspec.Struct, frozen=True):
    """How full a gateway's cache of finished segments is."""

    n_bytes: int
    n_entries: int
    shared: bool
    """True for one on disk, which all gateway processes have in common."""


class Alive(msgspec.Struct, frozen=True, tag=True):
    """Heartbeat of a gateway."""

    n_requests: int = 0
    """Speech requests it has in progress."""
    cache: CacheUse | None = None
    """None where it has none."""


class Drain(msgspec.Struct, frozen=True, tag=True):
    """Takes the service out of use, or back into it: new requests are refused, those in progress go on."""

    closed: bool


class Bye(msgspec.Struct, frozen=True, tag=True):
    """The gateway leaves; nobody waits for its jobs."""


# Dispatcher to gateway


class Welcome(msgspec.Struct, frozen=True, tag=True):
    """Answer to a Hello of the same versions."""

    incarnation: str
    """Differs between any two lives of the dispatcher."""


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The other half cannot be talked to: its versions differ."""

    package: str
    message: str


class Introduce(msgspec.Struct, frozen=True, tag=True):
    """Asks a peer that the dispatcher does not know for its Hello: one of the two has restarted."""


class Catalogue(msgspec.Struct, frozen=True, tag=True):
    """Everything a gateway needs to know about the pools; sent again at every change."""

    pools: list[PoolInfo]
    """Pools whose engine has been loaded at least once."""
    warm: bool
    """True once every worker has been ready at least once."""
    draining: bool
    """The dispatcher is about to end: jobs wait for the next one."""
    closed: bool
    """New requests are refused; those in progress go on."""
    default_pool: str = ""
    """The first of the settings, which speaks for requests that name neither model nor voice."""


class Beat(msgspec.Struct, frozen=True, tag=True):
    """Heartbeat of the dispatcher."""

    incarnation: str


class Status(msgspec.Struct, frozen=True, tag=True):
    """Answer to a StatusQuery."""

    query: int
    incarnation: str
    pid: int
    pools: list[PoolStatus]
    workers: list[WorkerStatus]
    closed: bool
    n_requests: int
    """Speech requests in progress in all gateways, as they said last."""
    reloading: bool = False
    """True from a request to reload until its end."""
    n_reloads: int = 0
    """Reloads that are over, well or not."""
    reload_failure: str = ""
    """Why the last one was not done."""


class Metrics(msgspec.Struct, frozen=True, tag=True):
    """Answer to a MetricsQuery."""

    query: int
    text: bytes
    """In Prometheus's text format."""


# Worker to dispatcher


class WorkerHello(msgspec.Struct, frozen=True, tag=True):
    """First message of a synthesis process."""

    protocol: int
    package: str
    index: int
    incarnation: int
    pid: int


class PhaseChange(msgspec.Struct, frozen=True, tag=True):
    """The worker enters a phase; its time limit counts from here."""

    phase: Phase


class Ready(msgspec.Struct, frozen=True, tag=True):
    """The engine is loaded and warm."""

    engine: EngineInfo
    generation: str
    cpus: list[int]
    """The affinity the process really has."""
    threads: int
    """The budget it was given."""
    runtime: Runtime
    pace: Pace
    """Of the last warm-up run."""


class Credit(msgspec.Struct, frozen=True, tag=True):
    """`n_slots` more slots of the worker are free."""

    n_slots: int


class Report(msgspec.Struct, frozen=True, tag=True):
    """Heartbeat of a worker."""

    stats: WorkerStats


class Leaving(msgspec.Struct, frozen=True, tag=True):
    """The worker is going to end: it finishes what it has and takes nothing new."""


# Worker to dispatcher, and on to the gateway


class Chunk(msgspec.Struct, frozen=True, tag=True):
    """Audio of a segment; its samples are the message's second frame."""

    key: JobKey
    generation: str
    from_sample: int
    """Offset of the first sample from the start of the segment."""
    n_samples: int


class Done(msgspec.Struct, frozen=True, tag=True):
    """All audio of the segment has been sent."""

    key: JobKey
    generation: str
    n_samples: int
    """Length of the whole segment, delivered by whatever attempts."""
    compute_s: float
    """Wall time spent in the engine for it."""
    worker: int = -1
    """Index of the worker; filled in by the dispatcher."""
    queue_s: float = 0.0
    """Time spent in the queue; filled in by the dispatcher."""
    words: tuple[Word, ...] = ()
    """All of the segment, in order, whatever attempts spoke them; () from an engine without word times."""


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The segment cannot be had from this attempt; `code` is one of errors.Code."""

    key: JobKey
    code: str
    message: str
    param: str = ""
    retry_after_s: float = 0.0
    alone: bool = False
    """With `worker_died`: True when nothing else was running, so that the death counts against this job."""
    killed: bool = False
    """With `worker_died`: True when somebody or the kernel killed the process, which counts half: it may be no fault of
    the text, or it may be its memory."""


class Cancelled(msgspec.Struct, frozen=True, tag=True):
    """The job was cancelled and holds nothing any more."""

    key: JobKey


# Dispatcher to worker


class Assign(msgspec.Struct, frozen=True, tag=True):
    """A job for a slot that the worker has announced as free."""

    job: Job


class Width(msgspec.Struct, frozen=True, tag=True):
    """Compute on so many of the worker's threads from the next step on: others need the CPUs, or no longer do."""

    n_threads: int


class Stop(msgspec.Struct, frozen=True, tag=True):
    """Finish what is in the slots, then leave."""


FromGateway = Hello | Submit | Cancel | Rekey | StatusQuery | MetricsQuery | RequestReport | Alive | Drain | Bye
ToGateway = Welcome | Refused | Introduce | Catalogue | Beat | Status | Metrics | Chunk | Done | Failed | Cancelled
FromWorker = WorkerHello | PhaseChange | Ready | Credit | Report | Leaving | Chunk | Done | Failed | Cancelled
ToWorker = Assign | Cancel | Rekey | Width | Stop
Message = FromGateway | ToGateway | FromWorker | ToWorker

M = TypeVar("M")

_encoder = msgspec.msgpack.Encoder()

FROM_GATEWAY: msgspec.msgpack.Decoder[FromGateway] = msgspec.msgpack.Decoder(FromGateway)
TO_GATEWAY: msgspec.msgpack.Decoder[ToGateway] = msgspec.msgpack.Decoder(ToGateway)
FROM_WORKER: msgspec.msgpack.Decoder[FromWorker] = msgspec.msgpack.Decoder(FromWorker)
TO_WORKER: msgspec.msgpack.Decoder[ToWorker] = msgspec.msgpack.Decoder(ToWorker)


def encode(message: Message) -> bytes:
    """Return the first frame of `message`."""
    return _encoder.encode(message)


def decode(decoder: msgspec.msgpack.Decoder[M], frame: bytes) -> M:
    """Return the message in `frame`; ProtocolError where it is of no type that `decoder` knows."""
    try:
        return decoder.decode(frame)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ProtocolError(f"unreadable message of {len(frame)} bytes: {error}") from error
