"""SSML's say-as: content read as what its author says it is. Pure."""

from __future__ import annotations

import re

from tts_service.text.languages import Language
from tts_service.text.number_words import cardinal, one_by_one, ordinal
from tts_service.text.passage import Passage
from tts_service.text.steps.dates import date_words
from tts_service.text.steps.symbols import symbol_name

_AS_THEY_STAND = ("time", "currency", "unit", "fraction", "address", "text")
INTERPRETATIONS = (
    "characters",
    "spell-out",
    "verbatim",
    "digits",
    "cardinal",
    "number",
    "ordinal",
    "date",
    "telephone",
    *_AS_THEY_STAND,
)
_ORDERS = {"mdy": "mdy", "dmy": "dmy", "ymd": "ymd", "md": "md", "dm": "dm"}


def say_as(content: Passage, attributes: dict[str, str], language: Language) -> Passage:
    """Return the content as it is to be said; where it is no such thing, as the steps read it anyway."""
    kind = attributes["interpret-as"]
    text = content.text.strip()
    if not text or kind in _AS_THEY_STAND:
        return content
    words = _words(text, kind, attributes.get("format", ""), language)
    if words is None:
        return content
    return Passage.spoken(words, *content.source(0, len(content)))


def _words(text: str, kind: str, form: str, language: Language) -> str | None:
    if kind in ("characters", "spell-out", "verbatim"):
        return ", ".join(_character(char, language) for char in text if not char.isspace())
    digits = re.sub(r"[^0-9]", "", text)
    if not digits or not language.reads_numbers:
        return None
    if kind == "digits":
        return one_by_one(digits, language)
    if kind == "telephone":
        plus = f"{language.plus} " if text.startswith("+") else ""
        return plus + ", ".join(one_by_one(group, language) for group in re.findall(r"[0-9]+", text))
    if kind == "ordinal":
        return ordinal(int(digits), language) if len(digits) <= 9 else None
    if kind == "date":
        return _date(text, form, language)
    mark = re.search(rf"{re.escape(language.decimal)}[0-9]", text)
    return None if mark else cardinal(digits, language)


def _character(char: str, language: Language) -> str:
    if char in "0123456789" and language.reads_numbers:
        return one_by_one(char, language)
    if char.isalnum():
        return char.upper() if len(char.upper()) == 1 else char
    return symbol_name(char, language) or char


def _date(text: str, form: str, language: Language) -> str | None:
    numbers = [int(number) for number in re.findall(r"[0-9]{1,4}", text)]
    order = _ORDERS.get(form.lower(), "")
    if len(numbers) != 3 or len(order) != 3:
        return None
    named = dict(zip(order, numbers, strict=True))
    return date_words(named["y"], named["m"], named["d"], language)
