"""Finished segments come from the cache: the same bytes, no worker's work, and never another request's audio."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from support.samples import pcm_of_wav
from support.service import Service, engine_options, running, wait_until

pytestmark = pytest.mark.system

PROMPT = "Your call is important to us. Please hold the line. All our agents are busy."


def cached(directory: Path | None = None, mib: int = 16, **more: str) -> dict[str, str]:
    """Return the environment that turns the cache on."""
    where = {"TTS_SERVICE_GATEWAY_CACHE_DIR": str(directory)} if directory else {}
    return {"TTS_SERVICE_GATEWAY_CACHE_MIB": str(mib)} | where | more


def segments_done(service: Service) -> int:
    """Return how many segments the workers have finished; reports come once a heartbeat, so wait for it to rest."""
    service.wait_idle()
    return sum(worker["segments_done"] for worker in service.workers())


def metric(service: Service, name: str) -> float:
    """Return a metric's value."""
    _, body, _ = service.request("GET", "/metrics")
    found = re.search(rf"^{name}(?:\{{[^}}]*\}})? (\S+)$", body.decode(), re.MULTILINE)
    return float(found.group(1)) if found else 0.0


def spoken(service: Service, text: str = PROMPT, **fields: Any) -> tuple[str, bytes]:
    """Return X-Cache and the body of a request that must succeed."""
    answer, body = service.speak(text, **({"response_format": "pcm"} | fields))
    assert answer.status == 200, body
    return answer.headers["X-Cache"], body


def test_a_hit_has_the_same_bytes_and_reaches_no_worker(tone: Service, hibari: Service) -> None:
    for engine, uncached in (("tone", tone), ("hibari", hibari)):
        with running("--engine", engine, env=cached()) as service:
            plain = uncached.pcm(PROMPT)
            assert spoken(service) == ("miss", plain)
            done = wait_until(lambda: segments_done(service) == 3 and 3, 10.0, "three segments")
            for fields in ({}, {"stream": False}, {"timeout": 5}, {"priority": 2}):
                assert spoken(service, **fields) == ("hit", plain)
            for response_format in ("wav", "mp3"):
                answer, body = uncached.speak(PROMPT, response_format=response_format)
                assert answer.status == 200
                assert spoken(service, response_format=response_format) == ("hit", body)
            assert spoken(service, sample_rate=8000) == ("hit", uncached.pcm(PROMPT, sample_rate=8000))
            # A sentence stands for itself, whatever is around it.
            assert spoken(service, "Please hold the line.")[0] == "hit"
            assert segments_done(service) == done
            assert metric(service, "tts_cache_hits_total") == 7 * 3 + 1
            assert metric(service, "tts_cache_misses_total") == 3
            assert wait_until(lambda: metric(service, "tts_cache_entries") == 3, 10.0, "the gateway's heartbeat")
            assert metric(service, "tts_cache_bytes") > 10_000
            assert re.search(r"segments=3 cached=3 attempts=0 workers=-", service.text_of_log())


def test_iso_06_other_voice_speed_seed_rate_or_format_never_hears_the_cached_audio(hibari: Service) -> None:
    with running(env=cached()) as service, running("--engine", "tone", env=cached()) as other:
        requests: list[dict[str, Any]] = [
            {},
            {"speed": 1.2},
            {"seed": 5},
            {"sample_rate": 16000},
            {"response_format": "wav"},
            {"response_format": "mp3"},
        ]
        for _ in range(2):
            bodies = [spoken(service, **fields)[1] for fields in requests]
            assert all(a != b for a, b in combinations(bodies, 2))
            assert bodies == [hibari.speak(PROMPT, **({"response_format": "pcm"} | f))[1] for f in requests]
        assert pcm_of_wav(bodies[4]) == bodies[0]
        for _ in range(2):
            voices = [spoken(other, voice=voice)[1] for voice in ("hz400", "hz500", "hz600")]
            assert len(set(voices)) == 3
        answers = [service.speak(PROMPT, response_format="pcm", seed=-1) for _ in range(2)]
        assert answers[0][1] != answers[1][1]
        assert "X-Cache" not in answers[1][0].headers


def test_iso_06_a_changed_model_never_serves_old_audio_and_the_old_one_is_found_again(tmp_path: Path) -> None:
    def tone_at(rate: int) -> tuple[str, bytes]:
        # The rate is what a model of the tone engine is: it changes the model's hash.
        env = cached(tmp_path / "cache") | engine_options(sample_rate_hz=rate)
        with running("--engine", "tone", "--workers", "1", env=env) as service:
            return spoken(service)

    first, first_body = tone_at(24000)
    second, second_body = tone_at(16000)
    third, third_body = tone_at(24000)
    assert (first, second, third) == ("miss", "miss", "hit")
    assert first_body == third_body != second_body


def test_what_is_on_disk_is_shared_by_processes_and_survives_damage(tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    env = cached(directory, TTS_SERVICE_GATEWAY_PROCESSES="2")
    with running("--engine", "tone", "--workers", "1", env=env) as service:
        _, body = spoken(service)
        # Fresh connections: both processes take some.
        assert [spoken(service) for _ in range(8)] == [("hit", body)] * 8
        entries = sorted(directory.glob("*.seg"))
        assert len(entries) == 3
        entries[0].write_bytes(entries[0].read_bytes()[:-100])
        entries[1].write_bytes(b"")
        assert spoken(service) == ("partial", body)
        assert spoken(service) == ("hit", body)
        assert service.text_of_log().count("damaged") == 2
        # Nothing can be written, nor read.
        for entry in directory.iterdir():
            entry.unlink()
        directory.rmdir()
        directory.touch()
        assert [spoken(service) for _ in range(3)] == [("miss", body)] * 3
        assert 1 <= service.text_of_log().count("cannot be used now") <= 2


def test_a_cache_directory_that_is_open_to_others_ends_the_start(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with running("--engine", "tone", env=cached(tmp_path), wait=False) as service:
        assert service.process.wait(20) == 71
        assert "it is open to others (mode 755)" in service.text_of_log()


def test_a_hit_costs_a_fraction_of_a_miss() -> None:
    text = " ".join(f"{PROMPT} This is announcement number {number}." for number in range(8))
    with running("--workers", "1", env=cached(mib=64)) as service:

        def cpu_s() -> float:
            return sum(sum(process.cpu_times()[:2]) for process in service.processes())

        before = cpu_s()
        assert spoken(service, text)[0] == "miss"
        cold = cpu_s() - before
        before = cpu_s()
        for _ in range(4):
            assert spoken(service, text, stream=False)[0] == "hit"
        warm = (cpu_s() - before) / 4
        print(f"CPU of a miss / a hit: {cold:.2f} s / {warm:.3f} s = {cold / max(warm, 0.01):.0f}")
        assert warm < 0.3 * cold
