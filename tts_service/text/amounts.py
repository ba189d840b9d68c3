"""How a language writes a quantity in digits, and what is said for it. Pure."""

from __future__ import annotations

import functools
import re

from tts_service.text.languages import Language
from tts_service.text.number_words import LONGEST_QUANTITY, cardinal, decimal, one_by_one, year

# Not behind another digit or its mark, so that no quantity begins in the middle of a number.
BEFORE = r"(?<![0-9])(?<![0-9][.,/])"
AFTER = r"(?![0-9])(?![.,][0-9])"


@functools.lru_cache(maxsize=64)
def amount_pattern(language: Language) -> str:
    """Return the source of a pattern for a quantity, without groups of its own."""
    mark = re.escape(language.decimal)
    group = "," if language.decimal == "." else r"[.']"
    if language.code in ("fr", "es", "pt"):
        group = r"[. ']"
    return rf"(?:[0-9]{{1,3}}(?:{group}[0-9]{{3}})+(?:{mark}[0-9]+)?|[0-9]+(?:{mark}[0-9]+)?|{mark}[0-9]+)"


@functools.lru_cache(maxsize=256)
def compiled(template: str, language: Language, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern in which AMOUNT stands for a quantity."""
    return re.compile(template.replace("AMOUNT", amount_pattern(language)), flags)


def split_amount(amount: str, language: Language) -> tuple[str, str]:
    """Return the digits before and after the decimal mark."""
    whole, _, part = amount.partition(language.decimal)
    return re.sub(r"[^0-9]", "", whole), part


def value(amount: str, language: Language) -> float:
    """Return the number, for the choice of singular or plural."""
    whole, part = split_amount(amount, language)
    return float(f"{whole[:300] or '0'}.{part[:30] or '0'}")


def amount_words(amount: str, language: Language) -> str:
    """Return the quantity in words."""
    whole, part = split_amount(amount, language)
    if part:
        return decimal(whole, part, language)
    if len(whole) > LONGEST_QUANTITY and whole == amount:
        return one_by_one(whole, language)
    return cardinal(whole, language)


def before_noun(amount: str, language: Language) -> str:
    """Return the quantity as it stands before what is counted: "ein Kilometer", "un euro"."""
    if amount == "1" and language.code in ("de", "es", "it"):
        return {"de": "ein", "es": "un", "it": "un"}[language.code]
    return amount_words(amount, language)


def bare_words(digits: str, after: str, language: Language) -> str:
    """Return digits without marks, which may be a year: in English "1984", unless things follow that are counted."""
    looks_like_year = (
        language.code == "en" and len(digits) == 4 and ("1100" <= digits <= "1999" or "2010" <= digits <= "2099")
    )
    counted = re.match(r" [a-z]+s\b", after) and not re.match(r" (?:was|is|has|this|its|as|was|his|does|us)\b", after)
    if looks_like_year and not counted and digits[2:] != "00":
        return year(int(digits), language)
    if looks_like_year and digits[2:] == "00" and digits[1] != "0" and not counted:
        return year(int(digits), language)
    return amount_words(digits, language)
