"""Made-up readings of GET /workers for the tests of `bench`."""

from __future__ import annotations

from tts_service.bench.readings import Reading, WorkerReading


def reading(
    n: int,
    *,
    index: int = 0,
    pid: int = 100,
    threads: int = 3,
    switches_per_audio_s: float = 3.0,
    cores: float = 1.0,
    before: Reading | None = None,
) -> Reading:
    """Return what a worker shows after connection `n`: each makes 5 s of audio in half a second of busy time."""
    last = before.worker(index) if before else None
    return Reading(
        [
            WorkerReading(
                index=index,
                pid=pid,
                live_threads=threads,
                voluntary_switches=(last.voluntary_switches if last else 60) + round(5 * switches_per_audio_s),
                busy_seconds=0.5 * n,
                cpu_seconds=(last.cpu_seconds if last else 0.0) + (0.5 * cores if n else 0.0),
                audio_seconds=5.0 * n,
            )
        ]
    )


def together(*readings: Reading) -> Reading:
    """Return one reading with the workers of several."""
    return Reading([worker for one in readings for worker in one.workers])


def healthy(n: int, index: int = 0) -> list[Reading]:
    """Return the readings of a healthy worker, one before and one after each of `n` connections."""
    series = [reading(0, index=index)]
    for number in range(1, n + 1):
        series.append(reading(number, index=index, before=series[-1]))
    return series
