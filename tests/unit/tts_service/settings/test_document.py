"""Settings written as TOML: the default file in the repository, and what `check` prints."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.properties import property_settings
from tts_service.allowed import allowed
from tts_service.settings import Loaded, PoolSettings, ServiceSettings, Settings, load
from tts_service.settings.document import default_toml, effective_toml
from tts_service.settings.keys import keys, value_of

DEFAULT_FILE = Path(__file__).parents[4] / "config" / "default.toml"
KEYS = list(keys(["default"]))


def test_the_default_file_is_what_the_schema_says() -> None:
    assert DEFAULT_FILE.read_text(encoding="utf-8") == default_toml()


def test_the_default_file_loads_to_the_defaults() -> None:
    loaded = load(DEFAULT_FILE, {}, {})
    assert loaded.settings == Settings()
    assert loaded.origins.keys() == {key.dotted for key in KEYS}


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.dotted)
def test_every_key_is_in_the_default_file_below_what_it_means_and_takes(key: Any) -> None:
    assert re.match(r"[A-Z].*\.$", key.description), "a description is a sentence"
    section = default_toml().partition(f"[{'.'.join(key.path[:-1])}]\n")[2]
    above, name, _ = section.partition(f"\n{key.path[-1]} = ")
    assert name, "the key is in its section"
    comment = above.rpartition("\n\n")[2].splitlines()
    words = " ".join(line.removeprefix("# ") for line in comment if line)
    assert words.startswith(key.description)
    assert allowed(key.field_type) in words
    assert words.endswith(f"{key.unit})")


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.dotted)
def test_a_duration_a_size_or_a_rate_has_the_unit_that_its_name_promises(key: Any) -> None:
    units = {"_s": "s", "_hz": "Hz", "_bytes": "bytes", "_mib": "MiB", "_chars": "characters", "_kbps": "kbit/s"}
    promised = [unit for ending, unit in units.items() if key.path[-1].endswith(ending)]
    assert [key.unit] == (promised or [""])


def test_the_environment_variable_of_every_key_sets_it() -> None:
    assert len({key.env for key in KEYS}) == len(KEYS)
    for key in KEYS:
        loaded = load(None, {key.env: str(key.default)}, {})
        assert loaded.origins == {key.dotted: f"environment {key.env}"}
        assert value_of(loaded.settings, key) == key.default


def test_the_settings_in_effect_are_printed_with_their_origins() -> None:
    text = effective_toml(load(None, {"TTS_SERVICE_GATEWAY_PORT": "9000"}, {"pool.engine": "tone"}))
    assert "port = 9000  # environment TTS_SERVICE_GATEWAY_PORT\n" in text
    assert 'engine = "tone"  # command line\n' in text
    assert "threads = 64  # default\n" in text
    assert re.findall(r"^\[(.*)\]$", text, re.MULTILINE) == ["service", "gateway", "workers", "pools.default"]


TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=True), TEXT
)


@property_settings(60)
@given(TEXT, st.dictionaries(TEXT, VALUES, max_size=4), TEXT)
def test_the_settings_in_effect_are_a_file_that_gives_the_same_again(
    tmp_path_factory: pytest.TempPathFactory, directory: str, options: dict[str, Any], voice: str
) -> None:
    settings = Settings(
        service=ServiceSettings(runtime_dir=directory),
        pools={"one": PoolSettings(options=options), "two": PoolSettings(default_voice=voice)},
    )
    text = effective_toml(Loaded(settings, {}))
    assert tomllib.loads(text)["service"]["runtime_dir"] == directory
    path = tmp_path_factory.mktemp("settings") / "again.toml"
    path.write_bytes(text.encode())
    assert load(path, {}, {}).settings == settings
