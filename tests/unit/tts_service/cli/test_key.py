"""`tts-service key`, and commands that refuse keys which are wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tts_service.errors import ExitCode
from tts_service.gateway.api_keys import KeyRing

Command = Callable[..., Any]


def test_a_new_key_opens_what_its_table_locks(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    shown = []
    for name in ("web.ui", "bot"):
        ran = command("key", name)
        assert ran.code == ExitCode.OK
        key = ran.err.split()[-1]
        assert key not in ran.out
        with path.open("a", encoding="utf-8") as file:
            file.write(ran.out)
        shown.append(key)
    path.chmod(0o600)
    keys = KeyRing(str(path))
    assert [owner.name for key in shown if (owner := keys.find(key))] == ["web.ui", "bot"]


def test_a_name_that_is_none_is_refused(command: Command) -> None:
    ran = command("key", "two words")
    assert ran.code == ExitCode.USAGE
    assert "two words: expected a name" in ran.complaint


@pytest.mark.parametrize("name", ["check", "serve"])
def test_a_key_file_that_others_may_read_stops_a_command(command: Command, tmp_path: Path, name: str) -> None:
    config = tmp_path / "my.toml"
    keys = tmp_path / "keys.toml"
    keys.write_text("", encoding="utf-8")
    keys.chmod(0o644)
    config.write_text(f'[gateway]\nport = 0\napi_keys_file = "{keys}"\n', encoding="utf-8")
    flags = [] if name == "check" else ["--runtime-dir", str(tmp_path / "run")]
    ran = command(name, "--config", str(config), *flags)
    assert ran.code == ExitCode.BAD_SETTINGS
    assert "mode is 0644" in ran.complaint
