"""Metrics count what happened, with bounded labels, in a form that Prometheus's own checker accepts."""

from __future__ import annotations

import subprocess

from prometheus_client.parser import text_string_to_metric_families

from tts_service.protocol import STEP_BUCKETS_S, CacheUse, Phase, PoolStatus, RequestReport, WorkerStatus
from tts_workers.metrics import ServiceMetrics

POOL = PoolStatus(name="default", queued=3, queue_limit=256, running=2, oldest_s=1.5)


def worker(index: int = 0, **changes: object) -> WorkerStatus:
    """Return a worker's status with some fields changed."""
    counts = [0] * (len(STEP_BUCKETS_S) + 1)
    counts[0], counts[-1] = 2, 1
    fields: dict[str, object] = {
        "index": index,
        "pool": "default",
        "pid": 1,
        "state": "ready",
        "phase": Phase.IDLE,
        "engine": "tone",
        "cpus": [0],
        "threads": 1,
        "live_threads": 3,
        "slots": {"total": 2, "active": 1},
        "effective_cores": 0.9,
        "rss_bytes": 1000,
        "voluntary_switches": 7,
        "restarts": 3,
        "last_exit": "",
        "segments_done": 5,
        "audio_seconds": 10.0,
        "busy_seconds": 2.0,
        "cpu_seconds": 1.8,
        "pss_bytes": 500,
        "faults": ["affinity is 0-1, planned 0"],
        "exits": {"signal_SIGKILL": 2, "hung": 1},
        "steps": 3,
        "step_seconds": 6.5,
        "step_counts": counts,
    }
    return WorkerStatus(**(fields | changes))  # type: ignore[arg-type]


def values(metrics: ServiceMetrics) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Return every sample by name and labels."""
    families = text_string_to_metric_families(metrics.text().decode())
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def test_answered_requests_are_counted_by_route_outcome_and_pool() -> None:
    metrics = ServiceMetrics(lambda: ([POOL], [worker()]))
    report = RequestReport(
        route="/v1/audio/speech",
        outcome="complete",
        duration_s=0.4,
        n_bytes=100,
        pool="default",
        response_format="mp3",
        streamed=True,
        characters=12,
        audio_s=2.5,
        first_audio_s=0.02,
        encoder_s=0.01,
        retries=1,
    )
    metrics.answered(report)
    metrics.answered(report)
    metrics.answered(RequestReport("/health", "complete", 0.001))
    found = values(metrics)
    assert found["tts_requests_total", (("outcome", "complete"), ("route", "/v1/audio/speech"))] == 2
    assert found["tts_delivered_audio_seconds_total", (("format", "mp3"), ("pool", "default"))] == 5.0
    assert found["tts_input_characters_total", (("pool", "default"),)] == 24
    assert found["tts_segment_retries_total", (("pool", "default"),)] == 2
    assert found["tts_first_audio_seconds_count", (("mode", "streamed"), ("pool", "default"))] == 2
    assert ("tts_input_characters_total", (("pool", ""),)) not in found


def test_a_request_without_audio_has_no_first_audio() -> None:
    metrics = ServiceMetrics(lambda: ([], []))
    metrics.answered(RequestReport("/v1/audio/speech", "worker_died", 0.4, pool="default", response_format="wav"))
    assert not [name for name, _ in values(metrics) if name.startswith("tts_first_audio_seconds_count")]


def test_workers_and_queues_are_read_when_asked() -> None:
    workers = [worker(0), worker(1, state="dead")]
    metrics = ServiceMetrics(lambda: ([POOL], workers))
    first = (("pool", "default"), ("worker", "0"))
    found = values(metrics)
    assert found["tts_queue_length", (("pool", "default"),)] == 3
    assert found["tts_queue_age_seconds", (("pool", "default"),)] == 1.5
    assert found["tts_worker_up", first] == 1
    assert found["tts_worker_up", (("pool", "default"), ("worker", "1"))] == 0
    assert found["tts_worker_plan_faults", first] == 1
    assert found["tts_worker_real_time_factor", first] == 0.2
    assert found["tts_worker_restarts_total", (("cause", "hung"), *first)] == 1
    workers[0] = worker(0, segments_done=6)
    assert values(metrics)["tts_worker_segments_total", first] == 6


def test_step_times_are_a_cumulative_histogram() -> None:
    found = values(ServiceMetrics(lambda: ([], [worker()])))
    first = (("pool", "default"), ("worker", "0"))
    buckets = [value for (name, _), value in found.items() if name == "tts_worker_step_seconds_bucket"]
    assert buckets == sorted(buckets)
    assert buckets[0] == 2
    assert found["tts_worker_step_seconds_count", first] == 3
    assert found["tts_worker_step_seconds_sum", first] == 6.5


def test_promtool_accepts_every_metric() -> None:
    metrics = ServiceMetrics(lambda: ([POOL], [worker()]))
    metrics.answered(
        RequestReport("/v1/audio/speech", "complete", 0.1, 9, "default", "wav", False, 5, 0.3, 0.01, 0.0, 1)
    )
    metrics.waited("default", 0.2)
    done = subprocess.run(["promtool", "check", "metrics"], input=metrics.text(), capture_output=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()


def test_every_metric_has_a_help_text() -> None:
    families = list(text_string_to_metric_families(ServiceMetrics(lambda: ([POOL], [worker()])).text().decode()))
    assert all(family.documentation for family in families)


def test_what_comes_from_caches_is_counted_and_a_shared_cache_once() -> None:
    caches = [CacheUse(100, 2, shared=False), CacheUse(50, 1, shared=False)]
    metrics = ServiceMetrics(lambda: ([], []), lambda: caches)
    metrics.answered(
        RequestReport("/s", "complete", 0.1, pool="default", cache_hits=3, cache_misses=2, cache_evictions=1)
    )
    found = values(metrics)
    assert found["tts_cache_hits_total", (("pool", "default"),)] == 3
    assert found["tts_cache_misses_total", (("pool", "default"),)] == 2
    assert found["tts_cache_evictions_total", ()] == 1
    assert (found["tts_cache_bytes", ()], found["tts_cache_entries", ()]) == (150, 3)
    caches[:] = [CacheUse(100, 2, shared=True), CacheUse(100, 2, shared=True)]
    found = values(metrics)
    assert (found["tts_cache_bytes", ()], found["tts_cache_entries", ()]) == (100, 2)
