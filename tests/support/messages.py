"""One example of every message of the protocol, with a value of its own in every field, and its promised bytes.

Until a version of the protocol has been released, its bytes may be written anew: python tests/support/messages.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import get_args

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from support.pools import engine, job, pool
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
    Hello,
    Introduce,
    JobKey,
    Leaving,
    Message,
    Metrics,
    MetricsQuery,
    Pace,
    Phase,
    PhaseChange,
    PoolStatus,
    Ready,
    Refused,
    Rekey,
    Report,
    RequestReport,
    Runtime,
    Status,
    StatusQuery,
    Stop,
    Submit,
    Welcome,
    Width,
    Word,
    WorkerHello,
    WorkerStats,
    WorkerStatus,
    encode,
)

GOLDEN = Path(__file__).parents[1] / "data" / f"protocol_{PROTOCOL_VERSION}.txt"

KEY = JobKey("req-1", 3, 2)
WORKER_STATUS = WorkerStatus(
    index=1,
    pool="default",
    pid=4242,
    state="ready",
    phase=Phase.STEP,
    engine="hibari",
    cpus=[2, 3],
    threads=2,
    live_threads=5,
    slots={"total": 4, "active": 1},
    effective_cores=1.75,
    rss_bytes=234_567_890,
    voluntary_switches=99,
    restarts=6,
    last_exit="signal 9",
    segments_done=17,
    audio_seconds=12.5,
    busy_seconds=0.125,
    cpu_seconds=0.0625,
    pss_bytes=200_000_000,
    faults=["2 threads, planned 1"],
    exits={"crash": 1},
    steps=80,
    step_seconds=0.1,
    step_counts=[80, 0],
    wide=True,
)
STATS = WorkerStats(
    slots_active=1,
    segments_done=17,
    steps=80,
    audio_seconds=12.5,
    busy_seconds=0.125,
    cpu_seconds=0.0625,
    effective_cores=1.75,
    step_seconds=0.1,
    step_counts=[80, 0],
)
REQUEST_REPORT = RequestReport(
    route="/v1/audio/speech",
    outcome="complete",
    duration_s=1.5,
    n_bytes=4096,
    pool="default",
    response_format="mp3",
    streamed=True,
    characters=80,
    audio_s=4.5,
    first_audio_s=0.25,
    encoder_s=0.125,
    retries=1,
    continuations=1,
    underruns=2,
    dry_s=0.5,
    cache_hits=3,
    cache_misses=1,
    cache_evictions=2,
)

EXAMPLES: list[Message] = [
    Hello(protocol=1, package="0.1.0"),
    Submit(job(segment=3, attempt=2, from_sample=480, lone=True)),
    Cancel(KEY),
    StatusQuery(281474976710655),
    MetricsQuery(5),
    REQUEST_REPORT,
    Rekey(KEY, 1001.5),
    Alive(3, CacheUse(4096, 2, shared=True)),
    Drain(closed=True),
    Bye(),
    Welcome("a1b2"),
    Refused("0.2.0", "versions differ"),
    Introduce(),
    Catalogue([pool(scripts=["LATIN"])], warm=True, draining=False, closed=True, default_pool="default"),
    Beat("a1b2"),
    Status(
        query=7,
        incarnation="a1b2",
        pid=4241,
        pools=[PoolStatus(name="default", queued=5, queue_limit=256, running=2, oldest_s=0.75)],
        workers=[WORKER_STATUS],
        closed=True,
        n_requests=4,
        reloading=True,
        n_reloads=3,
        reload_failure="no such file",
    ),
    Metrics(5, b"up 1\n"),
    WorkerHello(1, "0.1.0", index=2, incarnation=3, pid=4243),
    PhaseChange(Phase.WARM_UP),
    Ready(
        engine(stepping="batched", word_times=True),
        "g1",
        cpus=[0, 2],
        threads=2,
        runtime=Runtime(2, spinning=False),
        pace=Pace(50, 0.25, 3.5),
    ),
    Credit(2),
    Report(STATS),
    Leaving(),
    Chunk(KEY, "g1", 480, 6000),
    Done(KEY, "g1", 6480, 0.25, worker=1, queue_s=0.5, words=(Word(0, 5, 20, 6300),)),
    Failed(KEY, "queue_full", "300 segments are waiting", "input", 2.5, alone=True, killed=True),
    Cancelled(KEY),
    Assign(job(segment=3, attempt=2, encoding_s=0.125)),
    Width(3),
    Stop(),
]


def message_types() -> set[type]:
    """Return every type of message that there is."""
    return set(get_args(Message))


def golden() -> dict[str, str]:
    """Return type of message -> hexadecimal bytes of its example, as they were when the version was made."""
    lines = GOLDEN.read_text(encoding="ascii").splitlines()
    return {name: frame for name, _, frame in (line.partition(" ") for line in lines)}


if __name__ == "__main__":
    GOLDEN.write_text("".join(f"{type(message).__name__} {encode(message).hex()}\n" for message in EXAMPLES))
