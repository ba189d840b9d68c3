"""Small made-up pools, voices and jobs, for tests that need some and care about few of their fields."""

from __future__ import annotations

from typing import Any

import msgspec

from tts_service.protocol import EngineInfo, Job, JobKey, Pace, PoolInfo, Voice

ENGINE = EngineInfo(
    name="tone",
    model_hash="0123abcd",
    sample_rate_hz=24000,
    voices=[Voice("anna", "Anna", ["en-GB", "en"]), Voice("bert", "Bert", ["de"])],
    default_voice="anna",
    max_segment_chars=2000,
    scripts=[],
    stepping="turns",
    longest_step_s=0.25,
    thread_invariant=True,
    min_speed=0.5,
    max_speed=2.0,
)

PACE = Pace(n_chars=100, work_s=0.2, audio_s=6.0)

JOB = Job(
    key=JobKey("request", 0, 1),
    pool="default",
    generation="g1",
    voice="anna",
    text="Hello.",
    language="en",
    speed=1.0,
    seed=7,
    streamed=True,
    from_sample=0,
    max_samples=24000,
    arrived_s=0.0,
    deadline_s=1.0,
    client="127.0.0.1",
    alone=False,
    give_up_s=0.0,
    credit_bytes=96000,
)


def engine(**changes: Any) -> EngineInfo:
    """Return an engine, with some fields of one's own."""
    return msgspec.structs.replace(ENGINE, **changes)


def pool(name: str = "default", **changes: Any) -> PoolInfo:
    """Return a pool with one ready worker; fields that are no pool's are its engine's."""
    only_engines = set(EngineInfo.__struct_fields__) - set(PoolInfo.__struct_fields__)
    of_engine = {field: changes.pop(field) for field in only_engines & changes.keys()}
    of_engine["name"] = changes.pop("engine_name", "tone")
    info = PoolInfo(
        name=name,
        engine=engine(**of_engine),
        generation="g1",
        default_voice="anna",
        default_seed=0,
        n_workers=1,
        n_ready=1,
        n_slots=2,
        work_s_per_char=0.002,
        audio_s_per_char=0.06,
    )
    return msgspec.structs.replace(info, **changes)


def job(segment: int = 0, attempt: int = 1, request_id: str = "request", **changes: Any) -> Job:
    """Return a job, with some fields of one's own."""
    return msgspec.structs.replace(JOB, key=JobKey(request_id, segment, attempt), **changes)
