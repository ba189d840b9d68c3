"""What a synthesis process is told, and what its audio depends on."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from support.pools import engine
from tts_workers.spec import THREAD_VARIABLES, WorkerSpec, generation_of, worker_environment

SPEC = WorkerSpec(
    index=3,
    incarnation=2,
    parent_pid=4242,
    endpoint="ipc:///run/x/workers.sock",
    pool="default",
    engine="tone",
    models="",
    options={"faults": True, "step_cost_s": 0.25, "sample_rate_hz": 16000, "stepping": "batched"},
    cpus=[2, 3, 8],
    n_threads=3,
    n_slots=2,
    heartbeat_s=0.5,
    log_level="info",
)


def test_a_spec_survives_the_command_line() -> None:
    again = WorkerSpec.from_json(SPEC.to_json())
    assert again == SPEC
    assert {name: type(value) for name, value in again.options.items()} == {
        "faults": bool, "step_cost_s": float, "sample_rate_hz": int, "stepping": str,
    }  # fmt: skip


def test_every_life_has_an_identity_of_its_own() -> None:
    lives = [msgspec.structs.replace(SPEC, index=index, incarnation=n) for index in (1, 11) for n in (1, 11)]
    assert len({life.identity for life in lives}) == 4


def test_the_engine_is_told_its_models_budget_and_options() -> None:
    options = msgspec.structs.replace(SPEC, models="/models/x").engine_options
    assert (options.models, options.n_threads, options.values) == (Path("/models/x"), 3, SPEC.options)
    assert SPEC.engine_options.models is None


def test_every_thread_count_variable_is_set_whatever_the_environment_was() -> None:
    environment = worker_environment({"PATH": "/bin", "OMP_NUM_THREADS": "64", "OPENBLAS_NUM_THREADS": "64"}, 3)
    assert {name: environment[name] for name in THREAD_VARIABLES} == dict.fromkeys(THREAD_VARIABLES, "1")
    assert {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"} <= set(THREAD_VARIABLES)
    assert environment["TTS_WORKER_THREADS"] == "3"
    assert environment["ORT_DISABLE_TELEMETRY"] == "1"
    assert environment["PATH"] == "/bin"


def test_the_parents_environment_is_not_changed() -> None:
    parent = {"PATH": "/bin"}
    worker_environment(parent, 1)
    assert parent == {"PATH": "/bin"}


@pytest.mark.parametrize(
    "changes", [{"name": "other"}, {"model_hash": "ffff"}, {"sample_rate_hz": 16000}, {"thread_invariant": False}]
)
def test_what_changes_the_audio_changes_the_generation(changes: dict[str, object]) -> None:
    assert generation_of(engine(**changes), 1) != generation_of(engine(), 1)


def test_the_number_of_threads_counts_where_the_audio_depends_on_it() -> None:
    assert generation_of(engine(thread_invariant=True), 1) == generation_of(engine(thread_invariant=True), 2)
    assert generation_of(engine(thread_invariant=False), 1) != generation_of(engine(thread_invariant=False), 2)


@pytest.mark.parametrize("changes", [{"longest_step_s": 9.0}, {"max_segment_chars": 10}, {"stepping": "batched"}])
def test_what_does_not_change_the_audio_does_not_change_the_generation(changes: dict[str, object]) -> None:
    assert generation_of(engine(**changes), 1) == generation_of(engine(), 1)
