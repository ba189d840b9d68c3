"""Converts one value to the type of one field, and says in words what a field takes. Pure.

Used wherever a person may have written the value: settings, engine options, requests.
"""

from __future__ import annotations

from typing import Any

import msgspec


def convert(value: Any, field_type: Any, *, text: bool = False) -> Any:
    """Return `value` as `field_type`; with `text`, a string is read as the number or boolean it spells.

    ValueError, whose message is what the field takes, where the value does not fit.
    """
    try:
        found = msgspec.convert(value, field_type, strict=not text)
    except msgspec.ValidationError:
        raise ValueError(allowed(field_type)) from None
    if text and found is None:
        # msgspec reads "null" so; what is spelled is no absent value.
        raise ValueError(allowed(field_type))
    return found


def allowed(field_type: Any) -> str:
    """Return in words what values a field takes: "a whole number from 1 to 65535"."""
    return _in_words(msgspec.inspect.type_info(field_type))


def _in_words(info: Any) -> str:
    inspect = msgspec.inspect
    if isinstance(info, inspect.Metadata):
        return _in_words(info.type)
    if isinstance(info, inspect.UnionType):
        return " or ".join(_in_words(part) for part in info.types if not isinstance(part, inspect.NoneType))
    if isinstance(info, inspect.LiteralType):
        return "one of " + ", ".join(str(value) for value in info.values)
    if isinstance(info, inspect.IntType | inspect.FloatType):
        noun = "a whole number" if isinstance(info, inspect.IntType) else "a number"
        return noun + _bounds(info)
    if isinstance(info, inspect.BoolType):
        return "true or false"
    if isinstance(info, inspect.DictType):
        return "a table of names and values"
    if isinstance(info, inspect.StructType):
        return "an object with " + ", ".join(field.name for field in info.fields)
    return "text" + _length(info)


def _bounds(info: Any) -> str:
    low = f" from {info.ge}" if info.ge is not None else f" above {info.gt}" if info.gt is not None else ""
    high = f" to {info.le}" if info.le is not None else f" below {info.lt}" if info.lt is not None else ""
    return low + high


def _length(info: Any) -> str:
    pattern = f" matching {info.pattern}" if getattr(info, "pattern", None) else ""
    longest = f" of at most {info.max_length} characters" if getattr(info, "max_length", None) else ""
    return pattern + longest


def shorten(value: Any, longest: int = 60) -> str:
    """Return a value as an error message may show it: its repr, cut, so that no message carries a whole text."""
    try:
        shown = ascii(value[: 2 * longest] if isinstance(value, str) else value)
    except RecursionError:
        # The JSON parser takes some depths that repr does not.
        return f"a deeply nested {type(value).__name__}"
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"
