"""Says what is wrong with bytes that should be JSON, where the parser only says that something is. Pure."""

from __future__ import annotations

import re

_AT_BYTE = re.compile(r"\(byte (\d+)\)$")
_NO_NUMBER = re.compile(rb"-?(NaN|Infinity|inf|nan)")
# A backslash that is not escaped itself, and the first half of a pair without its second.
_LONE_HIGH = re.compile(rb"(?<!\\)(?:\\\\)*\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])")
_BOM = b"\xef\xbb\xbf"


def explain(raw: bytes, error: Exception) -> str:
    """Return why `raw` is not the JSON that was expected; `error` is what msgspec says."""
    text = str(error)
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if not raw.strip():
        return "it is empty"
    if raw.startswith(_BOM):
        return "it begins with a byte order mark"
    if "UTF-8" in text or isinstance(error, UnicodeDecodeError):
        return f"it is not UTF-8{_where_no_utf8(raw)}"
    if "surrogate" in text:
        return f"{text}: half of a character, which no text can have"
    found = _AT_BYTE.search(text)
    at = int(found.group(1)) if found else len(raw)
    # The parser stops at the first character that cannot be, or after a sign.
    for start in (max(0, at - 1), at):
        if number := _NO_NUMBER.match(raw, start):
            return f"{number.group().decode()} at byte {start} is no number in JSON"
    if "truncated" in text:
        if lone := _LONE_HIGH.search(raw):
            return f"the escape that ends at byte {lone.end()} is half of a surrogate pair"
        return "it ends too early"
    if at < len(raw) and raw[at] < 0x20 and "invalid character" in text:
        return f"{text}: control characters in a string are written as escapes, like \\n"
    return text


def _where_no_utf8(raw: bytes) -> str:
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return f": byte {error.start} is 0x{raw[error.start]:02x}"
    return ""
