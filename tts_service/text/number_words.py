"""Numbers in words, by num2words, and what it leaves to others: digits one by one, years, decimals. Pure."""

from __future__ import annotations

import functools

from num2words import num2words

from tts_service.text.languages import Language

# Longer ones without a mark between groups are no quantities but names: of accounts, phones, articles.
LONGEST_QUANTITY = 9
# num2words' German, for example, ends at 10**66.
LONGEST_NUMBER = 36
_WITH_AND = ("GB", "AU", "NZ", "IE", "IN", "ZA")


@functools.lru_cache(maxsize=4096)
def cardinal(digits: str, language: Language) -> str:
    """Return digits as a quantity; a number with leading zeros or too long for a name digit by digit."""
    if len(digits) > LONGEST_NUMBER or (digits[0] == "0" and len(digits) > 1):
        return one_by_one(digits, language)
    return _plain(num2words(int(digits), lang=language.code), language)


def one_by_one(digits: str, language: Language) -> str:
    """Return each digit's name."""
    return " ".join(_digit(int(digit), language) for digit in digits)


@functools.lru_cache(maxsize=4096)
def ordinal(number: int, language: Language) -> str:
    """Return "third"; of German the form before a feminine noun or after an article: "dritte"."""
    return _plain(num2words(number, lang=language.code, to="ordinal"), language)


@functools.lru_cache(maxsize=4096)
def year(number: int, language: Language) -> str:
    """Return "nineteen eighty-four"."""
    if language.code not in ("en", "de"):
        return cardinal(str(number), language)
    return _plain(num2words(number, lang=language.code, to="year"), language).replace("oh-", "oh ")


def decimal(whole: str, part: str, language: Language) -> str:
    """Return "three point one four": the digits behind the mark one by one."""
    before = cardinal(whole, language) if whole else ""
    return f"{before} {language.point} {one_by_one(part, language)}".strip()


@functools.lru_cache(maxsize=64)
def _digit(digit: int, language: Language) -> str:
    return str(num2words(digit, lang=language.code))


def _plain(words: str, language: Language) -> str:
    """Return it without the commas, and as Americans say it without "and"."""
    words = words.replace(",", "").strip()
    return words if language.code != "en" or language.region in _WITH_AND else words.replace(" and ", " ")
