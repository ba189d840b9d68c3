"""What a segment is kept under, and how a request uses the cache."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.fake_client import FakeClient, FakeGateway
from support.pools import job, pool
from support.scripted_broker import ScriptedBroker, audio_of
from support.spoken import TEXTS, SpokenRequest, expected
from tts_service.errors import Code
from tts_service.gateway.disk_store import DiskStore
from tts_service.gateway.memory_store import MemoryStore
from tts_service.gateway.result_cache import ResultCache, key_of, make_cache
from tts_service.protocol import Catalogue, Job
from tts_service.settings import GatewaySettings


def in_memory() -> ResultCache:
    """Return a cache that is large enough."""
    return ResultCache(MemoryStore(1 << 20))


OTHER_JOBS: list[dict[str, Any]] = [
    {"text": "Hello!"},
    {"voice": "bert"},
    {"language": "de"},
    {"speed": 1.0000001},
    {"seed": 8},
    {"generation": "g2"},
    {"streamed": False},
]
OTHER_POOLS: list[dict[str, Any]] = [{"engine_name": "piper"}, {"model_hash": "ffff"}, {"sample_rate_hz": 22050}]


def test_iso_06_every_input_that_fixes_the_audio_gives_another_key() -> None:
    keys = [key_of(job(), pool()), *(key_of(job(**change), pool()) for change in OTHER_JOBS)]
    keys += [key_of(job(), pool(**change)) for change in OTHER_POOLS]
    assert len(set(keys)) == 1 + len(OTHER_JOBS) + len(OTHER_POOLS)


def test_what_does_not_change_the_audio_does_not_change_the_key() -> None:
    changes: list[dict[str, Any]] = [
        {"segment": 3, "attempt": 2, "request_id": "other"},
        {"client": "10.1.1.1", "deadline_s": 7.0, "arrived_s": 3.0, "alone": True, "give_up_s": 9.0},
        {"from_sample": 480, "max_samples": 9, "credit_bytes": 1},
    ]
    assert {key_of(job(**change), pool()) for change in changes} == {key_of(job(), pool())}
    assert key_of(job(), pool("other", n_workers=7)) == key_of(job(), pool())


def test_a_stream_and_an_answer_in_one_piece_share_what_is_the_same_for_both() -> None:
    for invariant, n_keys in ((True, 1), (False, 2)):
        info = pool(mode_invariant=invariant)
        assert len({key_of(job(streamed=streamed), info) for streamed in (True, False)}) == n_keys


def test_texts_and_voices_cannot_run_into_each_other() -> None:
    parts = ["", "a", "b", "ab", "\0"]
    keys = {key_of(job(voice=v, text=t, language=la), pool()) for v, t, la in itertools.product(parts, repeat=3)}
    assert len(keys) == 125


def test_a_kept_segment_that_is_longer_than_is_allowed_now_is_not_used() -> None:
    cache = in_memory()
    cache.put(job(max_samples=2000), pool(), np.zeros(2000, np.float32))
    assert cache.get(job(max_samples=2000), pool()) is not None
    assert cache.get(job(max_samples=1999), pool()) is None


def test_a_request_is_the_same_from_the_cache_and_asks_no_worker() -> None:
    cache = in_memory()
    cold = SpokenRequest(TEXTS, cache=cache, sentence_pause_s=0.01)
    cold_audio = cold.audio()
    warm = SpokenRequest(TEXTS, cache=cache, sentence_pause_s=0.01)
    assert warm.audio().tobytes() == cold_audio.tobytes()
    assert warm.broker.posted == []
    assert warm.budget.n_bytes == 0
    account = warm.speech.account
    assert (account.segments, account.cached, account.not_cached, account.attempts) == (5, 5, 0, 0)
    assert account.audio_s == pytest.approx(len(cold_audio) / 24000)
    assert account.first_audio_s is not None


def test_only_the_segments_that_are_missing_are_made() -> None:
    cache = in_memory()
    SpokenRequest(TEXTS[1:3], cache=cache).audio()
    request = SpokenRequest(TEXTS, cache=cache)
    assert np.array_equal(request.audio(), expected(TEXTS))
    assert [key for key, _ in request.keys] == [0, 3, 4]
    assert (request.speech.account.cached, request.speech.account.not_cached) == (2, 3)


def test_a_segment_that_went_on_after_a_crash_is_kept_whole() -> None:
    cache = in_memory()

    def crash_once(broker: ScriptedBroker, job: Job) -> None:
        broker.speak(job, job.from_sample, 150 if job.key.attempt == 1 else None)
        broker.fail(job, Code.WORKER_DIED) if job.key.attempt == 1 else broker.end(job)

    SpokenRequest(TEXTS[:1], crash_once, cache=cache).audio()
    assert np.array_equal(SpokenRequest(TEXTS[:1], cache=cache).audio(), audio_of(TEXTS[0]))


def test_a_segment_that_failed_or_was_given_up_is_not_kept() -> None:
    cache = in_memory()

    def fail(broker: ScriptedBroker, job: Job) -> None:
        broker.speak(job, 0, 100)
        broker.fail(job, Code.ENGINE_FAILED)

    SpokenRequest(TEXTS[:1], fail, cache=cache).fails()
    given_up = SpokenRequest(TEXTS[1:2], lambda broker, job: broker.speak(job, 0, 100), cache=cache)
    next(given_up.pieces)
    given_up.speech.close()
    assert cache.use().n_entries == 0


def test_random_seeds_are_neither_kept_nor_looked_for() -> None:
    cache = in_memory()
    SpokenRequest(TEXTS, cache=cache).audio()
    n_entries = cache.use().n_entries
    request = SpokenRequest(TEXTS, cache=cache, random_seed=True)
    request.audio()
    assert len(request.broker.posted) == 5
    assert cache.use().n_entries == n_entries


def test_cached_audio_ahead_of_the_reader_counts_against_the_budget_at_its_real_length() -> None:
    cache = in_memory()
    SpokenRequest(TEXTS, cache=cache).audio()
    request = SpokenRequest(TEXTS, cache=cache, segments_ahead=3)
    next(request.pieces)
    assert request.budget.n_bytes == sum(audio_of(text).nbytes for text in TEXTS[:3])
    request.speech.close()
    assert request.budget.n_bytes == 0


def test_a_cache_that_evicts_is_reported() -> None:
    cache = ResultCache(MemoryStore(12000))
    request = SpokenRequest(TEXTS, cache=cache)
    request.audio()
    assert request.speech.account.evictions == 5 - cache.use().n_entries > 0


def with_cache(client: FakeClient, cache: ResultCache) -> FakeGateway:
    """Return an application with a cache."""
    gateway = FakeGateway(client)
    gateway.app = make_app_with(gateway, cache)
    gateway.http = gateway.app.test_client()
    return gateway


def make_app_with(gateway: FakeGateway, cache: ResultCache) -> Any:
    from tts_service.gateway.app import make_app

    return make_app(gateway.settings, gateway.client, gateway.admission, cache=cache)  # type: ignore[arg-type]


def test_the_answer_and_the_report_say_what_came_from_the_cache() -> None:
    client = FakeClient()
    gateway = with_cache(client, in_memory())
    answers = []
    for text in ("One here.", "One here.", "One here. And two."):
        answer = gateway.speak(text, response_format="wav")
        answers.append(answer.headers["X-Cache"])
        answer.close()
    assert answers == ["miss", "hit", "partial"]
    assert [(report.cache_hits, report.cache_misses, report.retries) for report in client.reports] == [
        (0, 1, 0),
        (1, 0, 0),
        (1, 1, 0),
    ]
    assert "X-Cache" not in FakeGateway().speak("One here.").headers


def test_iso_06_after_a_model_change_the_old_audio_is_not_served() -> None:
    client = FakeClient()
    gateway = with_cache(client, in_memory())
    gateway.speak("Hello.", response_format="pcm").get_data()
    # The workers' half has been started again: the gateway remembers the pool, and does not know what it will be.
    client.catalogue = Catalogue([], warm=False, draining=False, closed=False)
    gateway.speak("Hello.", response_format="pcm").get_data()
    client.pools = {"default": pool(generation="g2", model_hash="new")}
    client.announce()
    gateway.speak("Hello.", response_format="pcm").get_data()
    assert len(client.posted) == 3


def test_a_service_that_is_closed_refuses_what_it_has_kept_as_well() -> None:
    client = FakeClient()
    gateway = with_cache(client, in_memory())
    gateway.speak("Hello.", response_format="pcm").get_data()
    client.announce(closed=True)
    client.script = lambda broker, job: broker.fail(job, Code.NOT_READY, "closed")
    assert gateway.speak("Hello.", response_format="pcm").status_code == 503


def test_the_settings_say_whether_there_is_a_cache_and_where(tmp_path: Path) -> None:
    assert make_cache(GatewaySettings()) is None
    assert make_cache(GatewaySettings(cache_dir=str(tmp_path))) is None
    memory = make_cache(GatewaySettings(cache_mib=1))
    disk = make_cache(GatewaySettings(cache_mib=1, cache_dir=str(tmp_path / "cache")))
    assert memory is not None
    assert disk is not None
    assert isinstance(memory._store, MemoryStore)
    assert isinstance(disk._store, DiskStore)
    assert (tmp_path / "cache").is_dir()
