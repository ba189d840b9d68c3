"""Times of day and durations written like them: step `times`. Pure."""

from __future__ import annotations

import re

from tts_service.text.languages import Language
from tts_service.text.number_words import cardinal
from tts_service.text.passage import Passage
from tts_service.text.steps.step import Step

_CLOCK = re.compile(
    r"(?<![\w:.,])([01]?[0-9]|2[0-4]):([0-5][0-9])(?::([0-5][0-9]))?(?:\.[0-9]+)?"
    r"(?: ?(h|Uhr|uur|[AaPp]\.?[Mm]\b\.?))?(?![0-9:]|[A-Za-z])"
)
_HOUR = re.compile(r"(?<![\w:.,])(1[0-2]|0?[1-9])(?: ?[\-–] ?(1[0-2]|0?[1-9]))? ?([ap]\.?m\b\.?|[AP]\.?M\b\.?)(?!\w)")
_FRENCH = re.compile(r"(?<![\w:.,])([01]?[0-9]|2[0-4]) ?h ?([0-5][0-9])(?!\w)")
_UHR = re.compile(r"(?<![\w:.,])([01]?[0-9]|2[0-4])(?:[.:]([0-5][0-9]))? Uhr\b")

# Between two times.
_UNTIL = re.compile(
    r"(?:(?<=[0-9][ap]m)|(?<=[0-9] [ap]m)|(?<=[ap]\.m\.)|(?<=:[0-9]{2})) ?[\-–] ?(?=[0-9])", re.IGNORECASE
)


def _apply(passage: Passage, language: Language) -> Passage:
    if not language.reads_numbers:
        return passage
    if language.code == "en":
        passage = passage.sub("times", _UNTIL, f" {language.to} ")
        passage = passage.sub("times", _CLOCK, lambda m: _english(m, language))
        return passage.sub("times", _HOUR, lambda m: _hour(m, language))
    if language.code == "fr":
        passage = passage.sub("times", _FRENCH, lambda m: _clock(int(m[1]), int(m[2]), language))
    if language.code == "de":
        passage = passage.sub("times", _UHR, lambda m: _clock(int(m[1]), int(m[2] or 0), language))
    return passage.sub("times", _CLOCK, lambda m: _clock(int(m[1]), int(m[2]), language, m[3]))


def _english(match: re.Match[str], language: Language) -> str:
    hour, minute = cardinal(str(int(match[1])), language), int(match[2])
    half = _half(match[4])
    if match[3]:
        parts = [f"{hour} hour{_s(match[1])}", f"{cardinal(str(minute), language)} minute{_s(match[2])}"]
        parts.append(f"and {cardinal(str(int(match[3])), language)} second{_s(match[3])}")
        return " ".join(parts) + half
    if minute:
        words = f"oh {cardinal(str(minute), language)}" if minute < 10 else cardinal(str(minute), language)
        return f"{hour} {words}{half}" + _stop(match)
    if half:
        return f"{hour}{half}" + _stop(match)
    if int(match[1]) > 12 or match[1] in ("0", "00"):
        return f"{hour} hundred" if match[1] not in ("0", "00") else "zero hundred"
    return language.full_hour.format(hour=hour)


def _hour(match: re.Match[str], language: Language) -> str:
    first = cardinal(str(int(match[1])), language)
    until = f" {language.to} {cardinal(str(int(match[2])), language)}" if match[2] else ""
    return first + until + _half(match[3]) + _stop(match)


def _half(mark: str | None) -> str:
    return f" {mark[0].upper()} M" if mark and mark[0] in "AaPp" else ""


def _stop(match: re.Match[str]) -> str:
    """Return the full stop that the dot of "p.m." is, too, where it ends the sentence."""
    at_end = match[0].endswith(".") and not match.string[match.end() :].strip("\"'”’)] ")
    return "." if at_end else ""


def _s(number: str) -> str:
    return "" if int(number) == 1 else "s"


def _clock(hour: int, minute: int, language: Language, second: str | None = None) -> str:
    if minute == 0 and not second:
        return language.full_hour.format(hour=_hour_word(hour, language))
    words = language.clock.format(hour=_hour_word(hour, language), minute=cardinal(str(minute), language))
    return words + (f" {language.and_} {cardinal(str(int(second)), language)}" if second else "")


def _hour_word(hour: int, language: Language) -> str:
    # "ein Uhr", "une heure": hours have a gender, and 1 shows it.
    if hour == 1 and language.code in ("de", "fr", "es", "pt"):
        return {"de": "ein", "fr": "une", "es": "una", "pt": "uma"}[language.code]
    return cardinal(str(hour), language)


TIMES = Step("times", _apply)
