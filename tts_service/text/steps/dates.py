"""Dates, decades and years: step `dates`. Pure."""

from __future__ import annotations

import functools
import re

from babel import Locale

from tts_service.text.languages import Language
from tts_service.text.number_words import cardinal, ordinal, year
from tts_service.text.passage import Passage
from tts_service.text.steps.step import Step

_ISO = re.compile(r"(?<![\w\-])([0-9]{4})-([01]?[0-9])-([0-3]?[0-9])(?=T[0-9]|(?![\w\-]))")
_NUMERIC = re.compile(r"(?<![\w/.\-])([0-3]?[0-9])([/.\-])([0-3]?[0-9])\2((?:[12][0-9])?[0-9]{2})(?![\w/\-]|[.,][0-9])")
_YEAR = r"((?:1[0-9]|20)[0-9]{2})"
_DECADE = re.compile(r"(?<![\w.,])(?:((?:1[1-9]|20)[0-9])|['’]?([2-9]))0['’]?s\b")
_ERA = re.compile(r"(?<![\w.,])([0-9]{1,4}) ?(BCE?|CE|AD|B\.C\.|A\.D\.)(?!\w)")
_YEARS = re.compile(rf"(?<![\w.,$€£]){_YEAR} ?[\-–] ?{_YEAR}(?![\w%]|[.,][0-9])")
_SHORT_YEARS = re.compile(rf"(?<![\w.,$€£]){_YEAR}[\-–]([0-9]{{2}})(?![\w%\-–]|[.,][0-9])")
_SHORT_DAYS = {
    "Mon": "Monday",
    "Tue": "Tuesday",
    "Tues": "Tuesday",
    "Wed": "Wednesday",
    "Thu": "Thursday",
    "Thur": "Thursday",
    "Thurs": "Thursday",
    "Fri": "Friday",
    "Sat": "Saturday",
    "Sun": "Sunday",
}
_DAY_RANGE = re.compile(rf"\b({'|'.join(_SHORT_DAYS)})\.?[\-–]({'|'.join(_SHORT_DAYS)})\b")
# Without a year it might be a fraction: not behind these.
_SHORT_DATE = re.compile(
    r"(?:(?<=\bon )|(?<=\bby )|(?<=\buntil )|(?<=\bsince )|(?<=\bfrom )|(?<=\bdue )|(?<=\bbefore )|(?<=\bafter ))"
    r"(1[0-2]|0?[1-9])/(0?[1-9]|[12][0-9]|3[01])(?![\w/]|[.,][0-9])"
)
_DAY_NAME = re.compile(rf"\b({'|'.join(_SHORT_DAYS)})(?:\.(?=,? [A-Z0-9]| (?:to|and|through|or) |$)|(?=, ))")


def _apply(passage: Passage, language: Language) -> Passage:
    if not language.reads_numbers:
        return passage
    passage = passage.sub("dates", _ISO, lambda m: date_words(int(m[1]), int(m[2]), int(m[3]), language))
    if language.code == "de":
        passage = passage.sub("dates", _DATIVE, lambda m: m[1] + _in_german(m, language))
    passage = passage.sub("dates", _NUMERIC, lambda m: _numeric(m, language))
    if language.code == "en":
        return _english(passage, language)
    if language.code == "de":
        passage = passage.sub("dates", _german(), lambda m: f"{_german_day(m, language)} {m[3]}")
    if language.first:
        passage = passage.sub("dates", _first(language), lambda m: f"{language.first}{m[1]}")
    if language.code == "de":
        pattern = re.compile(rf"\b(im Jahre?|seit|anno|{'|'.join(_months('de').values())}) {_YEAR}(?![\w%]|[.,][0-9])")
        passage = passage.sub("dates", pattern, lambda m: f"{m[1]} {year(int(m[2]), language)}")
    return passage


def _english(passage: Passage, language: Language) -> Passage:
    names = _month_names()

    def month_first(match: re.Match[str]) -> str:
        day = ordinal(int(match[2]), language)
        until = f" to {ordinal(int(match[3]), language)}" if match[3] else ""
        return f"{names[match[1]]} {day}{until}" + (f", {year(int(match[4]), language)}" if match[4] else "")

    def day_first(match: re.Match[str]) -> str:
        after = f" {year(int(match[3]), language)}" if match[3] else ""
        the = "" if re.search(r"\bthe $", match.string[: match.start()]) else "the "
        return f"{the}{ordinal(int(match[1]), language)} of {names[match[2]]}{after}"

    passage = passage.sub("dates", _DAY_RANGE, lambda m: f"{_SHORT_DAYS[m[1]]} {language.to} {_SHORT_DAYS[m[2]]}")
    if language.region in ("", "US"):
        passage = passage.sub("dates", _SHORT_DATE, lambda m: f"{_ENGLISH[int(m[1])]} {ordinal(int(m[2]), language)}")
    passage = passage.sub("dates", _DAY_NAME, lambda m: _SHORT_DAYS[m[1]])
    passage = passage.sub("dates", _MONTH_FIRST, month_first)
    passage = passage.sub("dates", _DAY_FIRST, day_first)
    passage = passage.sub("dates", _MONTH_YEAR, lambda m: f"{names[m[1]]}{m[2]} {year(int(m[3]), language)}")
    passage = passage.sub("dates", _ERA, lambda m: f"{year(int(m[1]), language)} {' '.join(m[2].replace('.', ''))}")
    passage = passage.sub("dates", _DECADE, lambda m: _decade(m, language))
    passage = passage.sub(
        "dates", _YEARS, lambda m: f"{year(int(m[1]), language)} {language.to} {year(int(m[2]), language)}"
    )
    return passage.sub(
        "dates",
        _SHORT_YEARS,
        lambda m: f"{year(int(m[1]), language)} {language.to} {cardinal(m[2].lstrip('0') or '0', language)}",
    )


@functools.lru_cache(maxsize=16)
def _months(code: str) -> dict[int, str]:
    return dict(Locale(code).months["format"]["wide"])


def _month_names() -> dict[str, str]:
    """Return the English months by what is written for them."""
    return _MONTHS


_ENGLISH = _months("en")
_MONTHS = {name: name for name in _ENGLISH.values()}
_MONTHS |= {f"{name[:3]}{dot}": name for name in _ENGLISH.values() for dot in ("", ".") if len(name) > 3}
_MONTHS |= {"Sept": "September", "Sept.": "September"}
_MONTH = "(" + "|".join(re.escape(name) for name in sorted(_MONTHS, key=len, reverse=True)) + ")"
_DAY = r"(0?[1-9]|[12][0-9]|3[01])"
_MONTH_FIRST = re.compile(
    rf"\b{_MONTH} {_DAY}(?:st|nd|rd|th)?(?: ?[\-–] ?{_DAY}(?:st|nd|rd|th)?)?(?:,? {_YEAR})?(?![\w:%]|[.,\-][0-9])"
)
_DAY_FIRST = re.compile(rf"(?<![\w.,:]){_DAY}(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? {_YEAR})?(?!\w|[.,][0-9])")
_MONTH_YEAR = re.compile(rf"\b{_MONTH}(,?) {_YEAR}(?!\w|[.,][0-9])")


def date_words(year_number: int, month: int, day: int, language: Language) -> str | None:
    """Return a date in words; None where it is none."""
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    if language.code in ("en", "de"):
        day_name = ordinal(day, language) + ("r" if language.code == "de" else "")
    else:
        day_name = language.first if day == 1 and language.first else cardinal(str(day), language)
    name = _months(language.code)[month]
    return language.date.format(day=day_name, month=name, year=year(year_number, language))


def _numeric(match: re.Match[str], language: Language) -> str | None:
    first, second, written = int(match[1]), int(match[3]), match[4]
    if language.code == "en" and match[2] == ".":
        return None
    month_first = language.code == "en" and language.region in ("", "US", "PH")
    month, day = (first, second) if month_first else (second, first)
    if month > 12:
        month, day = day, month
    number = int(written) if len(written) == 4 else int(written) + (2000 if int(written) < 50 else 1900)
    return date_words(number, month, day, language)


def _decade(match: re.Match[str], language: Language) -> str:
    words = year(int(match[1] + "0"), language) if match[1] else cardinal(match[2] + "0", language)
    if words.endswith("y"):
        return words[:-1] + "ies"
    return words + "s"


# Before the rule for all languages: behind an article a date has another ending.
_DATIVE = re.compile(
    r"\b((?:[Aa]m|[Vv]om|[Zz]um|[Dd]em|[Dd]en|[Ss]eit|[Bb]is|[Aa]b|[Bb]eim) )"
    r"([0-3]?[0-9])\.([01]?[0-9])\.([0-9]{4})(?![\w])"
)


def _in_german(match: re.Match[str], language: Language) -> str:
    day, month = int(match[2]), int(match[3])
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return match[0][len(match[1]) :]
    return f"{ordinal(day, language)}n {_months('de')[month]} {year(int(match[4]), language)}"


@functools.lru_cache(maxsize=1)
def _german() -> re.Pattern[str]:
    months = "|".join(_months("de").values())
    return re.compile(
        rf"(?:\b(am|vom|zum|dem|den|seit|bis|ab|beim|der|die|das|im) )?(?<![\w.,])([0-3]?[0-9])\. ({months})\b",
        re.IGNORECASE,
    )


def _german_day(match: re.Match[str], language: Language) -> str:
    article = match[1] or ""
    day = ordinal(int(match[2]), language)
    if not article:
        return day + "r"
    return f"{article} {day}" + ("" if article.lower() in ("der", "die", "das") else "n")


@functools.lru_cache(maxsize=8)
def _first(language: Language) -> re.Pattern[str]:
    months = "|".join(_months(language.code).values())
    return re.compile(rf"(?<![\w.,])1(?:er|º|°)?( (?:de )?(?:{months})\b)", re.IGNORECASE)


DATES = Step("dates", _apply)
