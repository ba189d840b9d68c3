"""The four layers of settings: their order, and one clear error for whatever cannot be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tts_service.errors import SettingsError
from tts_service.settings import Settings, load

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a settings file."""

    def write_file(text: str) -> Path:
        path = tmp_path / "some.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write_file


def refused(config: Path | None = None, environ: dict[str, str] | None = None, **flags: Any) -> str:
    """Return the message with which these settings are refused."""
    with pytest.raises(SettingsError) as caught:
        load(config, environ or {}, {name.replace("__", "."): value for name, value in flags.items()})
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_nothing_set_gives_the_defaults() -> None:
    loaded = load(None, {}, {})
    assert loaded.settings == Settings()
    assert loaded.origins == {}


def test_a_flag_beats_the_environment_which_beats_the_file(write: Write) -> None:
    path = write("[gateway]\nport = 1\nthreads = 100\nmax_requests = 90\n")
    environ = {"TTS_SERVICE_GATEWAY_PORT": "2", "TTS_SERVICE_GATEWAY_THREADS": "200"}
    settings, origins = load(path, environ, {"gateway.port": "3", "gateway.host": None})
    assert (settings.gateway.port, settings.gateway.threads, settings.gateway.max_requests) == (3, 200, 90)
    assert origins == {
        "gateway.port": "command line",
        "gateway.threads": "environment TTS_SERVICE_GATEWAY_THREADS",
        "gateway.max_requests": str(path),
    }


def test_the_environment_can_name_the_file_and_a_flag_wins_over_it(write: Write, tmp_path: Path) -> None:
    path = write("[gateway]\nport = 1\n")
    other = tmp_path / "other.toml"
    other.write_text("[gateway]\nport = 2\n")
    environ = {"TTS_SERVICE_CONFIG": str(path)}
    assert load(None, environ, {}).settings.gateway.port == 1
    assert load(other, environ, {}).settings.gateway.port == 2
    assert load(None, {"TTS_SERVICE_CONFIG": ""}, {}).settings.gateway.port == 8000


def test_a_flag_that_is_no_text_is_taken_as_it_is() -> None:
    assert load(None, {}, {"gateway.port": 0}).settings.gateway.port == 0


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[gateway]\nport = 70000", ["gateway.port", "70000", "a whole number from 0 to 65535"]),
        ('[gateway]\nport = "8000"', ["gateway.port", "'8000'", "a whole number"]),
        ("[gateway]\nport = 80.0", ["gateway.port", "80.0", "a whole number"]),
        ("[gateway]\nport = true", ["gateway.port", "True", "a whole number"]),
        ("[gateway]\nchunk_s = nan", ["gateway.chunk_s", "nan", "a number from 0.02 to 5"]),
        ("[gateway]\nmp3_kbps = 65", ["gateway.mp3_kbps", "65", "one of 32, 40"]),
        ('[service]\nlog_level = "loud"', ["service.log_level", "'loud'", "one of debug, error"]),
        ('[workers]\ncpus = "all"', ["workers.cpus", "'all'", "text matching"]),
        ('[pools.default]\nengine = "flite"', ["pools.default.engine", "'flite'", "one of hibari, "]),
        ("[pools.default]\noptions = 3", ["pools.default.options", "3", "a table of names and values"]),
        ("[pools.default]\noptions = {a = [1]}", ["pools.default.options", "[1]", "a table of names and values"]),
        ("[gateway.port]\nx = 1", ["gateway.port", "{'x': 1}", "a whole number"]),
    ],
)
def test_a_wrong_value_in_a_file_is_named_with_its_file_its_key_and_what_is_allowed(
    write: Write, text: str, parts: list[str]
) -> None:
    message = refused(write(text))
    for part in ["some.toml", *parts]:
        assert part in message


@pytest.mark.parametrize(
    ("variable", "value", "parts"),
    [
        ("GATEWAY_PORT", "http", ["gateway.port", "'http'", "a whole number from 0 to 65535"]),
        ("GATEWAY_PORT", "", ["gateway.port", "''", "a whole number"]),
        ("GATEWAY_CHUNK_S", "inf", ["gateway.chunk_s", "'inf'", "a number from 0.02 to 5"]),
        ("POOLS_DEFAULT_OPTIONS", "fast", ["pools.default.options", "'fast'", "a table of names and values"]),
        ("POOLS_DEFAULT_DEFAULT_SEED", "yes", ["pools.default.default_seed", "'yes'", "one of random"]),
    ],
)
def test_a_wrong_value_in_the_environment_is_named_with_its_variable(
    variable: str, value: str, parts: list[str]
) -> None:
    message = refused(environ={f"TTS_SERVICE_{variable}": value})
    for part in [f"environment TTS_SERVICE_{variable}", *parts]:
        assert part in message


def test_a_wrong_flag_is_named_with_the_command_line() -> None:
    message = refused(gateway__port="-1")
    assert message == "command line: gateway.port = '-1': expected a whole number from 0 to 65535"


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("[gateway]\nprot = 1", "gateway.prot"),
        ("[gateways]\nport = 1", "[gateways]"),
        ("port = 1", "[port]"),
        ("[pools.default]\nvoice = 'x'", "pools.default.voice"),
        ("[gateway.tls]\nport = 1", "gateway.tls"),
    ],
)
def test_an_unknown_key_or_section_is_refused_by_name(write: Write, text: str, unknown: str) -> None:
    message = refused(write(text))
    assert "unknown" in message
    assert unknown in message


@pytest.mark.parametrize("name", ["TTS_SERVICE_GATEWAY_PROT", "TTS_SERVICE_PORTS", "TTS_SERVICE_POOLS_OTHER_ENGINE"])
def test_an_unknown_variable_of_ours_is_refused_by_name(name: str) -> None:
    assert name in refused(environ={name: "1"})


def test_variables_of_kubernetes_and_of_others_are_none_of_ours() -> None:
    address = "tcp://10.0.0.1:8000"
    environ = {
        "TTS_SERVICE_SERVICE_HOST": "10.0.0.1",
        "TTS_SERVICE_SERVICE_PORT": "8000",
        "TTS_SERVICE_SERVICE_PORT_HTTP": "8000",
        "TTS_SERVICE_PORT": address,
        "TTS_SERVICE_PORT_8000_TCP": address,
        "TTS_SERVICE_PORT_8000_TCP_PROTO": "tcp",
        "TTS_SERVICE_PORT_8000_TCP_PORT": "8000",
        "TTS_SERVICE_PORT_8000_TCP_ADDR": "10.0.0.1",
        "OTHER_GATEWAY_PORT": "x",
        "PATH": "/bin",
    }
    assert load(None, environ, {}).origins == {}


def test_a_table_in_the_environment_is_inline_toml() -> None:
    environ = {"TTS_SERVICE_POOLS_DEFAULT_OPTIONS": '{stepping = "batched", step_cost_s = 0.5, faults = true, n = 3}'}
    options = load(None, environ, {}).settings.pools["default"].options
    assert options == {"stepping": "batched", "step_cost_s": 0.5, "faults": True, "n": 3}


def test_pools_of_a_file_replace_the_default_one(write: Write) -> None:
    path = write('[pools.fast]\nengine = "tone"\n[pools.good]\nworkers = 1\n')
    pools = load(path, {"TTS_SERVICE_POOLS_GOOD_SLOTS": "5"}, {}).settings.pools
    assert list(pools) == ["fast", "good"]
    assert (pools["fast"].engine, pools["good"].engine) == ("tone", "hibari")
    assert (pools["good"].workers, pools["good"].slots) == (1, 5)


def test_a_pool_flag_means_the_only_pool_whatever_its_name(write: Write) -> None:
    settings, origins = load(write("[pools.fast]\n"), {}, {"pool.workers": "3", "pool.engine": None})
    assert settings.pools["fast"].workers == 3
    assert origins == {"pools.fast.workers": "command line"}


def test_a_pool_flag_is_refused_where_there_are_several_pools(write: Write) -> None:
    path = write("[pools.fast]\n[pools.good]\n")
    assert "pools.NAME.workers" in refused(path, pool__workers="3")
    assert load(path, {}, {"pool.workers": None}).settings.pools.keys() == {"fast", "good"}


@pytest.mark.parametrize("name", ["Fast", "", "a b", "ä", "-a", "a.b", "x" * 33, "a\\n"])
def test_a_pool_name_that_no_variable_or_url_could_carry_is_refused(write: Write, name: str) -> None:
    assert "pool name" in refused(write(f'[pools."{name}"]\n'))


def test_pools_whose_variables_would_be_the_same_are_refused(write: Write) -> None:
    message = refused(write("[pools.a-b]\n[pools.a_b]\n"))
    assert "'a-b'" in message
    assert load(write("[pools.a-b]\n[pools.a-c]\n[pools.b_b]\n"), {}, {}).settings.pools.keys() == {"a-b", "a-c", "b_b"}


@pytest.mark.parametrize("text", ["pools = 3", "[pools]", "pools.a = 1", "gateway = 1", "service = []"])
def test_a_value_in_the_place_of_a_table_is_refused(write: Write, text: str) -> None:
    assert "expected" in refused(write(text))


@pytest.mark.parametrize(
    ("environ", "parts"),
    [
        (
            {"GATEWAY_THREADS": "8", "GATEWAY_MAX_REQUESTS": "8"},
            ["gateway.max_requests = 8", "less than gateway.threads = 8"],
        ),
        (
            {"WORKERS_HEARTBEAT_S": "6"},
            ["workers.step_timeout_s = 10.0", "at least twice workers.heartbeat_s", "6.0"],
        ),
        (
            {"WORKERS_PREPARE_TIMEOUT_S": "1.5"},
            ["workers.prepare_timeout_s = 1.5", "at least twice workers.heartbeat_s", "1.0"],
        ),
        ({"POOLS_DEFAULT_DEFAULT_SEED": "-1"}, ["pools.default.default_seed = -1", "0 to 2**63 - 1"]),
        ({"POOLS_DEFAULT_DEFAULT_SEED": str(2**63)}, ["pools.default.default_seed", "0 to 2**63 - 1"]),
    ],
)
def test_values_that_do_not_go_together_are_refused(environ: dict[str, str], parts: list[str]) -> None:
    message = refused(environ={f"TTS_SERVICE_{name}": value for name, value in environ.items()})
    for part in parts:
        assert part in message


def test_a_seed_is_a_number_or_random() -> None:
    for text, value in (("random", "random"), ("0", 0), (str(2**63 - 1), 2**63 - 1)):
        environ = {"TTS_SERVICE_POOLS_DEFAULT_DEFAULT_SEED": text}
        assert load(None, environ, {}).settings.pools["default"].default_seed == value


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, write: Write) -> None:
    assert "missing.toml" in refused(tmp_path / "missing.toml")
    assert str(tmp_path) in refused(tmp_path)
    assert "not valid TOML" in refused(write("[gateway\nport = 1"))
    path = write("")
    path.write_bytes(b"[gateway]\nhost = '\xff'")
    assert "not valid TOML" in refused(path)
