"""The settings of servers that scenarios start for themselves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tts_service.bench.family import descendants, read_family
from tts_service.bench.metrics_reading import total
from tts_service.bench.own_settings import engine_of, environment_of, must_be_own, tone_values
from tts_service.bench.target import Target
from tts_service.errors import UsageError

TONE = tone_values(0.05, 0.0)
POOL = "TTS_SERVICE_POOLS_DEFAULT"


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("TTS_SERVICE_")]:
        monkeypatch.delenv(name)


def config(path: Path, text: str) -> Target:
    path.write_text(text)
    return Target(config=path)


def test_where_nothing_names_an_engine_it_is_tone_with_a_cost() -> None:
    environment = environment_of(Target(), {"pool.order": "requests"}, tone=TONE)
    assert environment == {
        f"{POOL}_ENGINE": "tone",
        f"{POOL}_OPTIONS": "{step_cost_s = 0.05, step_wait_s = 0.0}",
        f"{POOL}_ORDER": "requests",
    }
    assert engine_of(Target(), environment) == "tone (step_cost_s 0.05, step_wait_s 0.0)"


def test_an_engine_that_is_named_is_kept() -> None:
    target = Target(flags={"engine": "hibari"})
    assert environment_of(target, {}, tone=TONE) == {}
    assert engine_of(target, {}) == "hibari"
    assert f"{POOL}_OPTIONS" in environment_of(Target(flags={"engine": "tone"}), {}, tone=TONE)


def test_what_the_user_says_overrules_what_is_only_proposed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTS_SERVICE_GATEWAY_THREADS", "99")
    monkeypatch.setenv(f"{POOL}_OPTIONS", "{step_cost_s = 1.0}")
    proposed = {"gateway.threads": "64", "gateway.max_requests": "32"}
    environment = environment_of(Target(), {"pool.order": "segments"}, unless_said=proposed, tone=TONE)
    assert environment == {
        f"{POOL}_ENGINE": "tone",
        "TTS_SERVICE_GATEWAY_MAX_REQUESTS": "32",
        f"{POOL}_ORDER": "segments",
    }
    assert engine_of(Target(), environment) == "tone (step_cost_s 1.0)"


def test_the_only_pool_may_have_any_name(tmp_path: Path) -> None:
    target = config(tmp_path / "a.toml", '[pools.my-voice]\nengine = "tone"\n')
    assert environment_of(target, {"pool.order": "requests"}, tone={"load_s": 0.5}) == {
        "TTS_SERVICE_POOLS_MY_VOICE_OPTIONS": "{load_s = 0.5}",
        "TTS_SERVICE_POOLS_MY_VOICE_ORDER": "requests",
    }


def test_a_service_of_several_pools_is_refused(tmp_path: Path) -> None:
    target = config(tmp_path / "a.toml", '[pools.a]\nengine = "tone"\n[pools.b]\nengine = "tone"\n')
    with pytest.raises(UsageError, match="one pool"):
        environment_of(target, {})


def test_a_server_of_others_is_refused_where_an_own_one_is_needed() -> None:
    with pytest.raises(UsageError, match="leave out --url"):
        must_be_own(Target(url="http://h"), "kills processes of a server")
    must_be_own(Target(), "kills processes of a server")


def test_a_metric_is_summed_over_its_labels() -> None:
    text = (
        '# HELP tts_a_total A.\ntts_a_total{pool="x"} 2.0\ntts_a_total{pool="y"} 3.5\ntts_a_total_more 9.0\ntts_b 4.0\n'
    )
    assert [total(text, name) for name in ("tts_a_total", "tts_b", "tts_c")] == [5.5, 4.0, 0.0]


def test_a_family_is_the_process_and_all_below_it() -> None:
    (myself, *others) = read_family(os.getpid())
    assert (myself.pid, len(others)) == (os.getpid(), len(descendants(os.getpid())))
    assert myself.n_threads >= 1
    assert myself.n_descriptors >= 3
    assert myself.rss_mib > 10
    assert read_family(0) == []
