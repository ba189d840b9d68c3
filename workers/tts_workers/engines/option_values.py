"""Checks the free table of engine options against an engine's own typed struct. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from tts_service.allowed import convert
from tts_service.errors import SettingsError

S = TypeVar("S", bound=msgspec.Struct)


def read_options(struct: type[S], values: Mapping[str, Any], engine: str) -> S:
    """Return `values` as `struct`; SettingsError names the option, its value and what is allowed."""
    fields = {field.name: field for field in msgspec.structs.fields(struct)}
    for name, value in values.items():
        if name not in fields:
            known = ", ".join(fields) or "none"
            raise SettingsError(f"engine {engine} has no option {name!r}; it has: {known}")
        try:
            convert(value, fields[name].type)
        except ValueError as error:
            raise SettingsError(f"engine {engine}, option {name} = {value!r}: expected {error}") from None
    return struct(**values)
