"""Symbols by their names, and marks that are only decoration: step `symbols`. Pure."""

from __future__ import annotations

import re

from tts_service.text.languages import Language
from tts_service.text.passage import Passage
from tts_service.text.steps.step import Step

_ROW = re.compile(r"(?<![^\s])(?:[=*_~#\-–—+|<>^•·.]{3,}|[<>]{2,})(?![^\s])|([<>*_=~|])\1+")
_HASHTAG = re.compile(r"(?<![\w&])#(?=[^\W\d_])")
_MENTION = re.compile(r"(?<!\w)@(?=[^\W_])")
_AND_OR = re.compile(r"\b(and/or|he/she|she/he|his/her|him/her|s/he|yes/no|w/o|w/)(?!\w)")
_AND_OR_WORDS = {"and/or": "and or", "s/he": "she or he", "w/o": "without", "w/": "with"}
_BETWEEN_WORDS = re.compile(r"(?<=[^\W\d_])\s?/\s?(?=[^\W\d_])")
_STAR_TIMES = re.compile(r"(?<=[\w)]) [*·⋅] (?=[\w(])")
_SNAKE = re.compile(r"(?<=[^\W_])_+(?=[^\W_])")
_COMPARISON = re.compile(r" ?(&&|\|\||>=|<=|!=|==|≥|≤|≠) ?")
_COMPARISONS = {"&&": "and", "||": "or", ">=": "≥", "<=": "≤", "!=": "≠", "==": "="}
_CPLUSPLUS = re.compile(r"\b([A-Z])(\+\+|#)(?!\w)")
_DECORATION = re.compile(r"[*_~`^|\\•·▪◦‣■□▶►★☆✓✔✗✘→←↑↓⇒⇐➔➜➤†‡¤◆◇○●]+")
_ARROW = re.compile(r" ?[→⇒➔➜➤] ?| (?:-+>|=+>) ")


def _apply(passage: Passage, language: Language) -> Passage:
    if not language.reads_numbers:
        return passage
    english = language.code == "en"
    passage = passage.sub("symbols", _ARROW, f" {language.to} " if english else ", ")
    if english:
        passage = passage.sub("symbols", _COMPARISON, lambda m: f" {_compared(m[1], language)} ")
        passage = passage.sub("symbols", _AND_OR, lambda m: _AND_OR_WORDS.get(m[1], m[1].replace("/", " or ")))
        passage = passage.sub("symbols", _CPLUSPLUS, lambda m: f"{m[1]} {'plus plus' if m[2] == '++' else 'sharp'}")
    passage = passage.sub("symbols", _ROW, " ", final=False)
    passage = passage.sub("symbols", _HASHTAG, f"{language.hashtag} ")
    passage = passage.sub("symbols", _MENTION, f"{language.at} ")
    passage = passage.sub("symbols", _STAR_TIMES, f" {language.times} ")
    passage = passage.sub("symbols", _BETWEEN_WORDS, f" {language.slash} ")
    passage = passage.sub("symbols", _SNAKE, " ", final=False)
    passage = passage.sub("symbols", _named(language), lambda m: _name(m, language))
    return passage.sub("symbols", _DECORATION, _only_space, final=False)


def _compared(sign: str, language: Language) -> str:
    name = _COMPARISONS.get(sign, sign)
    return _names(language).get(name, name)


def _only_space(match: re.Match[str]) -> str:
    return " " if match.start() and match.end() < len(match.string) else ""


_ENGLISH = {
    "≈": "approximately",
    "≤": "less than or equal to",
    "≥": "greater than or equal to",
    "≠": "not equal to",
    "±": "plus or minus",
    "÷": "divided by",
    "√": "square root of",
    "∞": "infinity",
    "©": "copyright",
    "®": "registered",
    "™": "trademark",
    "¶": "paragraph",
    "−": "minus",
    "π": "pi",
    "¢": "cents",
    "$": "dollars",
    "€": "euros",
    "£": "pounds",
    "¥": "yen",
    "#": "number",
}
_GERMAN = {
    "≈": "ungefähr",
    "≤": "kleiner gleich",
    "≥": "größer gleich",
    "≠": "ungleich",
    "€": "Euro",
    "$": "Dollar",
    "©": "Copyright",
}
_EXTRA = {"en": _ENGLISH, "de": _GERMAN}


def _names(language: Language) -> dict[str, str]:
    return _EXTRA.get(language.code, {"€": "euro", "$": "dollar"}) | {
        "&": language.and_,
        "@": language.at,
        "%": language.percent,
        "+": language.plus,
        "=": language.equals,
        "<": language.less,
        ">": language.greater,
        "×": language.times,
        "°": language.degrees,
        "§": language.section,
        "№": language.number,
        "/": language.slash,
    }


_patterns: dict[str, re.Pattern[str]] = {}


def _named(language: Language) -> re.Pattern[str]:
    if language.code not in _patterns:
        # A slash alone, or between a word and a number.
        signs = "".join(re.escape(sign) for sign in _names(language))
        _patterns[language.code] = re.compile(rf"\s*([{signs}])\s*")
    return _patterns[language.code]


_SPELLED = {
    ".": "dot", ",": "comma", "-": "dash", "_": "underscore", ":": "colon", ";": "semicolon", "?": "question mark",
    "!": "exclamation mark", "*": "asterisk", "(": "open parenthesis", ")": "close parenthesis",
}  # fmt: skip


def symbol_name(sign: str, language: Language) -> str:
    """Return what a sign is called where it is spelled; empty where nothing is known for it."""
    own = {".": language.dot, "-": language.dash, "_": language.underscore}
    return _names(language).get(sign) or own.get(sign) or (_SPELLED.get(sign, "") if language.code == "en" else "")


def _name(match: re.Match[str], language: Language) -> str:
    before = " " if match.start() else ""
    after = " " if match.end() < len(match.string) and match.string[match.end()] not in ".,;:!?)" else ""
    return before + _names(language)[match[1]] + after


SYMBOLS = Step("symbols", _apply)
