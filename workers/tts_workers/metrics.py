"""The service's Prometheus metrics, all in the dispatcher's process, so that any scrape sees the whole.

Gateways send a report for each request they have answered; workers' figures are read when somebody asks. Used by the
one thread of the `tts-workers` process. Labels come from fixed sets: routes, outcomes, formats, pools, worker indices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, InfoMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from tts_service import __version__
from tts_service.protocol import STEP_BUCKETS_S, CacheUse, PoolStatus, RequestReport, WorkerStatus

# From a cached word to a chapter that waits in a queue.
LATENCY_BUCKETS_S = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)

Scene = Callable[[], tuple[list[PoolStatus], list[WorkerStatus]]]
CacheUses = Callable[[], list[CacheUse]]


class ServiceMetrics:
    """Everything that GET /metrics shows. `scene` returns pools and workers, `caches` the gateways' caches, as now."""

    def __init__(self, scene: Scene, caches: CacheUses = list) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(_SceneCollector(scene, caches))
        self._requests = self._counter("requests", "Answered requests.", "route", "outcome")
        self._duration = self._histogram("request_duration_seconds", "From request to end of answer.", "route")
        self._bytes = self._counter("response_bytes", "Bytes of answers' bodies.", "route")
        self._characters = self._counter("input_characters", "Characters of text in speech requests.", "pool")
        self._audio = self._counter("delivered_audio_seconds", "Audio handed to clients.", "pool", "format")
        self._first_audio = self._histogram(
            "first_audio_seconds", "From request to the first audio in the gateway.", "pool", "mode"
        )
        self._queue_wait = self._histogram("queue_wait_seconds", "Time of segments in the queue.", "pool")
        self._encoder = self._counter("encoder_seconds", "Time spent encoding audio in gateways.", "format")
        self._continuations = self._counter("continuations", "Retries in the middle of a segment.", "pool")
        self._underruns = self._counter("underruns", "Times that a stream's listener ran dry.", "pool")
        self._dry = self._counter("underrun_seconds", "Time for which streams' listeners were dry.", "pool")
        self._cache_hits = self._counter("cache_hits", "Segments that came from the cache.", "pool")
        self._cache_misses = self._counter("cache_misses", "Segments that were not in the cache.", "pool")
        self._cache_evictions = self._counter("cache_evictions", "Segments that left the cache for others.")
        self._retries = self._counter("segment_retries", "Segments submitted again after a loss.", "pool")

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, namespace="tts", registry=self.registry)

    def _histogram(self, name: str, text: str, *labels: str) -> Histogram:
        return Histogram(name, text, labels, namespace="tts", registry=self.registry, buckets=LATENCY_BUCKETS_S)

    def answered(self, report: RequestReport) -> None:
        """Count one request that a gateway has answered."""
        self._requests.labels(report.route, report.outcome).inc()
        self._duration.labels(report.route).observe(report.duration_s)
        self._bytes.labels(report.route).inc(report.n_bytes)
        if not report.pool:
            return
        self._characters.labels(report.pool).inc(report.characters)
        self._audio.labels(report.pool, report.response_format).inc(report.audio_s)
        self._encoder.labels(report.response_format).inc(report.encoder_s)
        self._retries.labels(report.pool).inc(report.retries)
        self._continuations.labels(report.pool).inc(report.continuations)
        self._underruns.labels(report.pool).inc(report.underruns)
        self._dry.labels(report.pool).inc(report.dry_s)
        self._cache_hits.labels(report.pool).inc(report.cache_hits)
        self._cache_misses.labels(report.pool).inc(report.cache_misses)
        self._cache_evictions.inc(report.cache_evictions)
        if report.first_audio_s is not None:
            mode = "streamed" if report.streamed else "buffered"
            self._first_audio.labels(report.pool, mode).observe(report.first_audio_s)

    def waited(self, pool: str, queue_s: float) -> None:
        """Count the wait of a segment that has got a slot."""
        self._queue_wait.labels(pool).observe(queue_s)

    def text(self) -> bytes:
        """Return everything in Prometheus's text format."""
        return generate_latest(self.registry)


class _SceneCollector(Collector):
    """Reads pools and workers when Prometheus asks."""

    def __init__(self, scene: Scene, caches: CacheUses) -> None:
        self._scene = scene
        self._caches = caches

    def collect(self) -> Iterable[Metric]:
        pools, workers = self._scene()
        yield InfoMetricFamily("tts_build", "Version of the service.", value={"version": __version__})
        yield from _cache(self._caches())
        yield from _queues(pools)
        yield from _workers(workers)

    def describe(self) -> Iterable[Metric]:
        """Nothing: a description would ask for the scene before there is one."""
        return []


def _cache(uses: list[CacheUse]) -> Iterator[Metric]:
    # Those that share a directory all tell of the same one.
    own = [use for use in uses if not use.shared]
    shared = [use for use in uses if use.shared]
    n_bytes = sum(use.n_bytes for use in own) + max((use.n_bytes for use in shared), default=0)
    n_entries = sum(use.n_entries for use in own) + max((use.n_entries for use in shared), default=0)
    yield GaugeMetricFamily("tts_cache_bytes", "Size of the finished segments that are kept.", value=n_bytes)
    yield GaugeMetricFamily("tts_cache_entries", "Finished segments that are kept.", value=n_entries)


def _queues(pools: list[PoolStatus]) -> Iterator[Metric]:
    length = GaugeMetricFamily("tts_queue_length", "Segments that wait for a slot.", labels=["pool"])
    limit = GaugeMetricFamily("tts_queue_limit", "Segments at which new requests are refused.", labels=["pool"])
    age = GaugeMetricFamily("tts_queue_age_seconds", "Age of the segment that has waited longest.", labels=["pool"])
    running = GaugeMetricFamily("tts_running_segments", "Segments in workers' slots.", labels=["pool"])
    for pool in pools:
        length.add_metric([pool.name], pool.queued)
        limit.add_metric([pool.name], pool.queue_limit)
        age.add_metric([pool.name], pool.oldest_s)
        running.add_metric([pool.name], pool.running)
    yield from (length, limit, age, running)


# Name, help, and the figure of a worker.
_GAUGES: tuple[tuple[str, str, Callable[[WorkerStatus], float]], ...] = (
    ("up", "1 while the worker is warm.", lambda w: float(w.state == "ready")),
    ("threads_budget", "Intra-op threads the worker was given.", lambda w: w.threads),
    ("live_threads", "Threads of the worker's process now.", lambda w: w.live_threads),
    ("effective_cores", "CPU time over wall time of the recent busy time.", lambda w: w.effective_cores),
    ("resident_bytes", "Resident set size.", lambda w: w.rss_bytes),
    ("proportional_bytes", "Proportional set size: shared pages count by their users.", lambda w: w.pss_bytes),
    ("wide", "1 for a worker on all CPUs of its pool, for lone segments.", lambda w: float(w.wide)),
    ("slots", "Slots of the worker.", lambda w: w.slots["total"]),
    ("slots_active", "Slots with a segment in them.", lambda w: w.slots["active"]),
    ("plan_faults", "Ways in which the process differs from its plan.", lambda w: len(w.faults)),
    ("real_time_factor", "Busy seconds an audio second.", lambda w: _ratio(w.busy_seconds, w.audio_seconds)),
)
_COUNTERS: tuple[tuple[str, str, Callable[[WorkerStatus], float]], ...] = (
    ("voluntary_switches", "Times a thread of the worker went to sleep.", lambda w: w.voluntary_switches),
    ("segments", "Segments finished.", lambda w: w.segments_done),
    ("audio_seconds", "Audio made.", lambda w: w.audio_seconds),
    ("busy_seconds", "Wall time in the engine.", lambda w: w.busy_seconds),
    ("cpu_seconds", "CPU time of all threads while in the engine.", lambda w: w.cpu_seconds),
)


def _workers(workers: list[WorkerStatus]) -> Iterator[Metric]:
    labels = ["worker", "pool"]
    for name, text, figure in _GAUGES:
        gauge = GaugeMetricFamily(f"tts_worker_{name}", text, labels=labels)
        for worker in workers:
            gauge.add_metric(_labels(worker), figure(worker))
        yield gauge
    for name, text, figure in _COUNTERS:
        counter = CounterMetricFamily(f"tts_worker_{name}", text, labels=labels)
        for worker in workers:
            counter.add_metric(_labels(worker), figure(worker))
        yield counter
    restarts = CounterMetricFamily("tts_worker_restarts", "Ends of the worker's process.", labels=[*labels, "cause"])
    steps = HistogramMetricFamily("tts_worker_step_seconds", "Wall time of engine steps.", labels=labels)
    for worker in workers:
        for cause, count in worker.exits.items():
            restarts.add_metric([*_labels(worker), cause], count)
        steps.add_metric(_labels(worker), _buckets(worker.step_counts), worker.step_seconds)
    yield restarts
    yield steps


def _buckets(counts: list[int]) -> list[tuple[str, float]]:
    """Return cumulative buckets, the last one +Inf, from the counts of each bucket."""
    bounds = [str(bound) for bound in STEP_BUCKETS_S] + ["+Inf"]
    total = 0
    buckets: list[tuple[str, float]] = []
    for bound, count in zip(bounds, counts, strict=True):
        total += count
        buckets.append((bound, total))
    return buckets


def _labels(worker: WorkerStatus) -> list[str]:
    return [str(worker.index), worker.pool]


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
