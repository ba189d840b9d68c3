"""What a settings key is called in each layer, and where its description is. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from tts_service.settings.schema import PoolSettings, Settings

POOL_NAME = re.compile(r"^[a-z0-9][a-z0-9_-]{0,31}$")
ENV_PREFIX = "TTS_SERVICE_"


class Key(NamedTuple):
    """One leaf of the settings tree."""

    path: tuple[str, ...]
    """For example ("gateway", "port") or ("pools", "default", "engine")."""
    field_type: Any
    """msgspec type information, with its constraints."""
    default: Any
    description: str
    unit: str

    @property
    def dotted(self) -> str:
        """The key as it is written in messages: gateway.port."""
        return ".".join(self.path)

    @property
    def env(self) -> str:
        """The environment variable that sets it."""
        return ENV_PREFIX + "_".join(self.path).upper().replace("-", "_")


def keys(pools: list[str]) -> Iterator[Key]:
    """Yield every key there is when the pools have these names, in the schema's order."""
    for section in msgspec.structs.fields(Settings):
        if section.name == "pools":
            for pool in pools:
                yield from _leaves(PoolSettings, ("pools", pool))
        else:
            yield from _leaves(section.type, (section.name,))


def _leaves(struct: type[msgspec.Struct], prefix: tuple[str, ...]) -> Iterator[Key]:
    for field in msgspec.structs.fields(struct):
        info = msgspec.inspect.type_info(field.type)
        assert isinstance(info, msgspec.inspect.Metadata)
        documented = info.extra_json_schema or {}
        default = {} if field.default is msgspec.NODEFAULT else field.default
        unit = (info.extra or {}).get("unit", "")
        yield Key((*prefix, field.name), field.type, default, documented.get("description", ""), unit)


def value_of(settings: Settings, key: Key) -> Any:
    """Return the value that `settings` have for a key."""
    node: Any = settings
    for name in key.path:
        node = node[name] if isinstance(node, dict) else getattr(node, name)
    return node
