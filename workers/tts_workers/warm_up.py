"""The warm-up of a synthesis process: brings everything lazy into being, and sees how fast the engine is."""

from __future__ import annotations

import time

from tts_service.errors import EngineBroken, RequestFailed
from tts_service.protocol import Job, JobKey, Pace
from tts_workers.engines.base import Engine

LONGEST_S = 600


def warm_up(engine: Engine) -> Pace:
    """Synthesize with every voice that the engine names, and once more with the default one.

    Returns the pace of that last run. EngineBroken where one fails.
    """
    for voice in engine.warm_up_voices():
        synthesize(engine, warm_up_job(engine, voice))
    job = warm_up_job(engine, engine.info.default_voice)
    started_s = time.monotonic()
    n_samples = synthesize(engine, job)
    return Pace(len(job.text), time.monotonic() - started_s, n_samples / engine.info.sample_rate_hz)


def warm_up_job(engine: Engine, voice: str) -> Job:
    """Return a job that leaves no part of the engine untouched."""
    return Job(
        key=JobKey("warm-up", 0, 1),
        pool="",
        generation="",
        voice=voice,
        text=engine.warm_up_text(voice),
        language="",
        speed=1.0,
        seed=0,
        streamed=False,
        from_sample=0,
        max_samples=LONGEST_S * engine.info.sample_rate_hz,
        arrived_s=0.0,
        deadline_s=0.0,
        client="",
        alone=False,
        give_up_s=0.0,
        credit_bytes=0,
    )


def synthesize(engine: Engine, job: Job) -> int:
    """Run a job to its end, by turns of its own; return the number of its samples. EngineBroken where it fails."""
    n_samples = 0
    finished = False
    try:
        sequence = engine.start(job)
        while not finished:
            (output,) = engine.step([sequence])
            if output.error is not None:
                raise output.error
            n_samples += len(output.samples)
            finished = output.finished
    except RequestFailed as error:
        raise EngineBroken(f"voice {job.voice} fails on a plain text: {error}") from error
    engine.release(sequence)
    return n_samples
