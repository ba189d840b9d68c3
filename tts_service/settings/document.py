"""Writes settings as TOML: the commented default file, and what `tts-service check` prints. Pure."""

from __future__ import annotations

import json
import re
import textwrap
from typing import Any

from tts_service.allowed import allowed
from tts_service.settings.keys import Key, keys, value_of
from tts_service.settings.load import Loaded

_HEADER = """\
# Every setting of tts-service, at its default. A copy needs only the keys that differ:
#   tts-service serve --config my.toml
# Each key is also an environment variable (gateway.port: TTS_SERVICE_GATEWAY_PORT), which wins over the file, and some
# are flags, which win over both. `tts-service check` prints what is in effect.
"""

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def default_toml() -> str:
    """Return the text of config/default.toml."""
    lines = [_HEADER]
    section = ""
    for key in keys(["default"]):
        section = _open_section(lines, section, key)
        about = f"{key.description} {_range(key)}"
        lines += textwrap.wrap(about, 118, initial_indent="# ", subsequent_indent="# ")
        lines.append(f"{key.path[-1]} = {_toml(key.default)}\n")
    return "\n".join(lines).rstrip("\n") + "\n"


def effective_toml(loaded: Loaded) -> str:
    """Return the settings in effect as TOML, with the layer that set each key which is not at its default."""
    lines: list[str] = []
    section = ""
    for key in keys(list(loaded.settings.pools)):
        section = _open_section(lines, section, key)
        origin = loaded.origins.get(key.dotted, "default")
        lines.append(f"{key.path[-1]} = {_toml(value_of(loaded.settings, key))}  # {origin}")
    return "\n".join(lines) + "\n"


def _open_section(lines: list[str], section: str, key: Key) -> str:
    wanted = ".".join(key.path[:-1])
    if wanted != section:
        lines.append(("\n" if section else "") + f"[{wanted}]")
    return wanted


def _range(key: Key) -> str:
    unit = f" {key.unit}" if key.unit else ""
    return f"({allowed(key.field_type)}{unit})"


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_name(name)} = {_toml(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, float):
        # JSON has no inf and no nan.
        return repr(value)
    # JSON's strings, whole numbers and booleans are valid TOML, but for the one control character that JSON lets stand.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _name(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _toml(name)
