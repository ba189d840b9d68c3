"""Abbreviations in full, and letters with dots as letters: step `abbreviations`. Pure."""

from __future__ import annotations

import functools
import re

from tts_service.text.abbreviation_lists import BEFORE_NUMBER, IN_FULL, TITLES
from tts_service.text.languages import Language
from tts_service.text.passage import Passage
from tts_service.text.steps.step import Step

# "U.S.", "p.m.", "e.g." as far as no list has it, and initials: "J. R. R. Tolkien".
_LETTERS = re.compile(r"(?<![\w.])(?:[^\W\d_]\.){2,}(?!\w)|(?<![\w.])(?:[^\W\d_]\.){1,}[^\W\d_](?![\w.])")
_INITIAL = re.compile(r"(?<![\w.'])([^\W\d_a-zß-ÿ])\.(?= (?:[^\W\d_a-zß-ÿ]\.|[^\W\d_a-zß-ÿ]\w))")
_SAINT = re.compile(r"\bSt\.? (?=[A-Z][a-z])(?!and\b)")
_STREET = re.compile(r"(?<=[a-z] )(St|Dr)\.(?=,| [a-z]|$| \()")
_STRASSE = re.compile(r"(?<=[a-zäöüß])str\.(?= |$)")
_WITHOUT_DOT = ("Dr", "Mr", "Mrs", "Ms", "Mme", "Mlle", "Sra", "Srta")
_CLOSING = "\"'”’)]» "


def _apply(passage: Passage, language: Language) -> Passage:
    code = language.code
    if code == "en":
        passage = passage.sub("abbreviations", _STREET, lambda m: _full(m, {"St": "Street", "Dr": "Drive"}[m[1]]))
        passage = passage.sub("abbreviations", _SAINT, "Saint ")
    if code == "de":
        passage = passage.sub("abbreviations", _STRASSE, "straße")
    if code in TITLES:
        passage = passage.sub("abbreviations", _titles(code), lambda m: _title(m, code))
        passage = passage.sub("abbreviations", _numbered(code), lambda m: BEFORE_NUMBER[code][(m[1] or m[2]).lower()])
        passage = passage.sub("abbreviations", _in_full(code), lambda m: _known(m, code))
    passage = passage.sub("abbreviations", _INITIAL, lambda m: m[1])
    return passage.sub("abbreviations", _LETTERS, _letters)


@functools.lru_cache(maxsize=16)
def _titles(code: str) -> re.Pattern[str]:
    # Without their dot most are words, too: "Gen Z".
    known = TITLES[code]
    plain = _any({name: "" for name in known if name in _WITHOUT_DOT})
    return re.compile(
        rf"\b(?:({_any(known)})\.|({plain or '(?!)'}))(?= *(?:(?:and|&|und|et|y|e|en) )?[\"'“„«(*_\[]*[^\W\d_a-zß-ÿ])"
    )


@functools.lru_cache(maxsize=16)
def _numbered(code: str) -> re.Pattern[str]:
    # Without their dot most are words, too: "no 5 of them".
    plain = {name: "" for name in BEFORE_NUMBER[code] if name == "v" or not name.isalpha()}
    return re.compile(
        rf"(?<!\w)(?:({_any(BEFORE_NUMBER[code])})\. ?|({_any(plain) or '(?!)'}) ?)(?=[0-9])", re.IGNORECASE
    )


@functools.lru_cache(maxsize=16)
def _in_full(code: str) -> re.Pattern[str]:
    # Longest first: "p. ej." before "p.".
    return re.compile(rf"(?<![\w.])({_any(IN_FULL[code])})(?!\w)", re.IGNORECASE)


def _title(match: re.Match[str], code: str) -> str:
    words = TITLES[code][match[1] or match[2]]
    after = match.string[match.end() : match.end() + 1]
    return words if after.isspace() else words + " "


def _any(table: dict[str, str]) -> str:
    return "|".join(re.escape(name) for name in sorted(table, key=len, reverse=True))


def _known(match: re.Match[str], code: str) -> str | None:
    written = match[1]
    words = IN_FULL[code].get(written) or IN_FULL[code].get(written.lower())
    if words is None:
        return None
    if written[0].isupper() and not words[0].isupper():
        words = words[0].upper() + words[1:]
    return _full(match, words)


def _full(match: re.Match[str], words: str) -> str:
    """Return the words, with the full stop that an abbreviation's dot is, too, at the end of a sentence."""
    return words + ("." if match[0].endswith(".") and _ends(match) else "")


def _ends(match: re.Match[str]) -> bool:
    return not match.string[match.end() :].strip(_CLOSING)


def _letters(match: re.Match[str]) -> str:
    return _full(match, " ".join(match[0].replace(".", "").upper()))


ABBREVIATIONS = Step("abbreviations", _apply)
