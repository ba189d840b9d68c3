"""All other numbers: ordinals, fractions, ranges, percentages, versions, plain ones: step `numbers`. Pure."""

from __future__ import annotations

import functools
import re

from tts_service.text.amounts import AFTER, BEFORE, amount_words, bare_words, compiled
from tts_service.text.languages import Language
from tts_service.text.number_words import cardinal, one_by_one, ordinal, year
from tts_service.text.passage import Passage
from tts_service.text.steps.step import Step

_FRACTIONS = {
    "½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅖": (2, 5), "⅗": (3, 5),
    "⅘": (4, 5), "⅙": (1, 6), "⅚": (5, 6), "⅛": (1, 8), "⅜": (3, 8), "⅝": (5, 8), "⅞": (7, 8),
}  # fmt: skip
_VULGAR = re.compile(rf"(?:(?<![\w.,])([0-9]{{1,9}}) ?)?([{''.join(_FRACTIONS)}])")
_FRACTION = re.compile(r"(?<![\w/.,$€£])(?:([0-9]{1,4})[ \-])?([0-9]{1,2})[/⁄]([0-9]{1,3})(?![\w/]|[.,][0-9])")
_SET_PHRASES = {"24/7": "twenty-four seven", "9/11": "nine eleven", "50/50": "fifty fifty", "20/20": "twenty twenty"}
_ORDINAL = re.compile(r"(?<![\w.,])([0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,9})(?:st|nd|rd|th)\b")
_ORDINALS = {
    "fr": re.compile(r"(?<![\w.,])([0-9]{1,6})(?:er|re|ère|e|è|ème|ième|nd|nde)\b"),
    "es": re.compile(r"(?<![\w.,])([0-9]{1,6})\.?[ºª°]"),
    "it": re.compile(r"(?<![\w.,])([0-9]{1,6})[ºª°]"),
    "pt": re.compile(r"(?<![\w.,])([0-9]{1,6})\.?[ºª°]"),
    "nl": re.compile(r"(?<![\w.,])([0-9]{1,6})(?:e|de|ste)\b"),
    "de": re.compile(r"\b((?:[Dd]er|[Dd]ie|[Dd]as|[Dd]en|[Dd]em|[Aa]m|[Ii]m|[Zz]um) )([0-9]{1,4})\.(?= \w)"),
}
_VERSION = re.compile(r"(?<![0-9.,])([0-9]+(?:\.[0-9]+){2,})(?!\.?[0-9])")
_RATIO = re.compile(r"(?<![\w:.,])([0-9]{1,4}):([0-9]{1,4})(?![\w:]|[.,][0-9])")
_POWER = re.compile(r"(?<=[\w)])([²³])|(?<=[\w)])\^(-?[0-9]+)(?![\w.])|10([⁻]?[⁰¹²³⁴-⁹]+)")
_DIMENSION = re.compile(r"(?<![\w.,])([0-9]+(?:\.[0-9]+)?)(?: ?x ?|×)(?=[0-9])")
_NUMBER_SIGN = re.compile(r"(?<!\w)#(?=[0-9])|№ ?(?=[0-9])")
_TIMES = re.compile(r"(?<![\w.,])([0-9]+(?:\.[0-9]+)?)x\b(?! ?[+\-*/=<>^²³])")
# Behind these a numeral is an ordinary number, behind a name it is "the eighth".
_COUNTED = (
    "World War|Chapter|Part|Volume|Vol\\.|Act|Book|Section|Article|Type|Phase|Class|Level|Stage|Grade|"
    "Title|Division|Appendix|Table|Figure|Episode|Season|Rocky|Super Bowl|Final Fantasy|Apollo|Mark|"
    "Schedule|Tier|Unit"
)
_REGNAL = (
    "Henry|Louis|George|Edward|Richard|Charles|William|James|Elizabeth|Mary|John Paul|Pius|Benedict|Leo|"
    "Gregory|Clement|Innocent|Philip|Frederick|Napoleon|Nicholas|Alexander|Ivan|Peter|Catherine|Gustav|"
    "Christian|Wilhelm|Friedrich|Karl|Otto|Heinrich|Ludwig|Paul|Francis|Urban|Constantine|Ramses|"
    "Ramesses|Ptolemy|Murad|Mehmed|Selim|Leopold|Albert|Umberto|Robert|Alfonso|Ferdinand|Haakon|Olaf|"
    "Harald|Margaret"
)
_ROMAN = re.compile(
    rf"\b({_COUNTED}|{_REGNAL}) ((?=[IVXL])(?:X{{0,3}}|XL|L)(?:IX|IV|V?I{{0,3}}))\b(?!\.?[A-Za-z]|'(?!s\b))"
)
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50}
_RANGE = (
    rf"(?<![\w\-–.,]){BEFORE}(?P<first>AMOUNT)(?P<percent1> ?%)? ?[\-–—] ?"
    rf"(?P<second>AMOUNT)(?P<percent> ?%)?(?![\w\-–]){AFTER}"
)
_PERCENT = rf"(?P<minus>(?<![\w)])[-−])?(?P<plus>(?<![\w)])\+)?(?<![A-Za-z]){BEFORE}(?P<amount>AMOUNT) ?(?P<mark>[%‰])"
_SIGNED = rf"(?<![\w)\].,])(?P<sign>[-−+±]|~(?=[0-9]))(?P<amount>AMOUNT){AFTER}"
_PLAIN = rf"{BEFORE}(?P<amount>AMOUNT){AFTER}"
_SERIAL = re.compile(r"(?<![0-9])[0-9]+(?![0-9])")
_CODE = re.compile(
    r"\b((?:ZIP|zip|postal|area|dialing|PIN|pin|access|verification)(?: code)?:? |(?:[Cc]ode|PIN) (?:is )?)"
    r"([0-9]{3,10})(?![\w]|[.,][0-9])"
)
_YEAR_AFTER = re.compile(
    r"\b(?:in|since|by|until|till|from|of|year|before|after|around|circa|during|between|and|to|early|late|mid|"
    r"spring|summer|fall|autumn|winter) $",
    re.IGNORECASE,
)


def _apply(passage: Passage, language: Language) -> Passage:
    if not language.reads_numbers:
        return passage
    sub = functools.partial(Passage.sub, rule="numbers")
    if language.code == "en":
        passage = _english(passage, language)
    elif language.code in _ORDINALS:
        passage = sub(passage, pattern=_ORDINALS[language.code], replace=lambda m: _ordinal(m, language))
    passage = sub(passage, pattern=_VERSION, replace=lambda m: _version(m[1], language))
    passage = sub(passage, pattern=compiled(_RANGE, language), replace=lambda m: _range(m, language))
    passage = sub(passage, pattern=compiled(_PERCENT, language), replace=lambda m: _percent(m, language))
    passage = sub(
        passage, pattern=_RATIO, replace=lambda m: f"{_int(m[1], language)} {language.to} {_int(m[2], language)}"
    )
    passage = sub(passage, pattern=_DIMENSION, replace=lambda m: f"{amount_words(m[1], language)} {language.by} ")
    passage = sub(passage, pattern=_NUMBER_SIGN, replace=f"{language.number} ")
    passage = sub(passage, pattern=compiled(_SIGNED, language), replace=lambda m: _signed(m, language))
    passage = sub(passage, pattern=compiled(_PLAIN, language), replace=lambda m: _spaced(m, _bare(m, language)))
    # What is left has marks that fit no quantity: its digits are said all the same.
    return sub(passage, pattern=_SERIAL, replace=lambda m: _spaced(m, _int(m[0], language)))


def _english(passage: Passage, language: Language) -> Passage:
    passage = passage.sub("numbers", _VULGAR, lambda m: _vulgar(m, language))
    passage = passage.sub("numbers", _FRACTION, lambda m: _fraction(m, language))
    passage = passage.sub("numbers", _ORDINAL, lambda m: ordinal(int(m[1].replace(",", "")), language))
    passage = passage.sub("numbers", _CODE, lambda m: m[1] + one_by_one(m[2], language))
    passage = passage.sub("numbers", _ROMAN, lambda m: _roman(m, language))
    passage = passage.sub("numbers", _POWER, lambda m: _power(m, language))
    return passage.sub("numbers", _TIMES, lambda m: f"{amount_words(m[1], language)} times")


def _int(digits: str, language: Language) -> str:
    return amount_words(digits, language)


def _ordinal(match: re.Match[str], language: Language) -> str:
    if language.code == "de":
        article = match[1]
        dative = article.strip().lower() in ("den", "dem", "am", "im", "zum")
        return article + ordinal(int(match[2]), language) + ("n" if dative else "")
    return ordinal(int(match[1]), language)


def _version(written: str, language: Language) -> str:
    parts = written.split(".")
    between = language.dot if len(parts) == 4 or language.code != "en" else language.point
    return f" {between} ".join(cardinal(part, language) for part in parts)


def _range(match: re.Match[str], language: Language) -> str:
    first, second = match["first"], match["second"]
    percent = f" {language.percent}" if match["percent"] else ""
    return f"{amount_words(first, language)} {language.to} {amount_words(second, language)}{percent}"


def _percent(match: re.Match[str], language: Language) -> str:
    sign = f"{language.minus} " if match["minus"] else f"{language.plus} " if match["plus"] else ""
    name = language.percent if match["mark"] == "%" else {"en": "per mille", "de": "Promille"}.get(language.code, "‰")
    after = match.string[match.end() : match.end() + 1]
    return f"{sign}{amount_words(match['amount'], language)} {name}" + (" " if after.isalnum() else "")


def _signed(match: re.Match[str], language: Language) -> str:
    amount = amount_words(match["amount"], language)
    sign = match["sign"]
    if sign == "±":
        return f"{language.plus} {'or ' if language.code == 'en' else ''}{language.minus} {amount}"
    if sign == "~":
        return f"{'about' if language.code == 'en' else 'circa'} {amount}"
    return f"{language.plus if sign == '+' else language.minus} {amount}"


def _bare(match: re.Match[str], language: Language) -> str:
    amount = match["amount"]
    text = match.string
    touches = text[match.start() - 1 : match.start()].isalpha() if match.start() else False
    if touches and amount.isdigit() and len(amount) > 3:
        return one_by_one(amount, language)
    if language.code == "en" and amount.isdigit() and len(amount) == 4 and "2000" <= amount <= "2009":
        before = _YEAR_AFTER.search(text[max(0, match.start() - 12) : match.start()])
        return year(int(amount), language) if before else cardinal(amount, language)
    if amount.isdigit():
        return bare_words(amount, text[match.end() : match.end() + 24], language)
    return amount_words(amount, language)


def _spaced(match: re.Match[str], words: str) -> str:
    """Keep number words off the letters that the digits touched: "A4", "3D"."""
    before = match.string[match.start() - 1 : match.start()] if match.start() else ""
    after = match.string[match.end() : match.end() + 1]
    return (" " if before.isalnum() else "") + words + (" " if after.isalnum() else "")


def _vulgar(match: re.Match[str], language: Language) -> str:
    words = _parts(*_FRACTIONS[match[2]], language, alone=not match[1])
    return f"{cardinal(match[1], language)} and {words}" if match[1] else words


def _fraction(match: re.Match[str], language: Language) -> str | None:
    whole, first, second = match[1], int(match[2]), int(match[3])
    if not whole and match[0] in _SET_PHRASES:
        return _SET_PHRASES[match[0]]
    if second < 2 or first == 0 or first >= second or second > 100:
        between = "over" if second else "slash"
        first_words = f"{whole} {_int(match[2], language)}" if whole else _int(match[2], language)
        return f"{first_words} {between} {_int(match[3], language)}"
    words = _parts(first, second, language, alone=not whole)
    return f"{cardinal(whole, language)} and {words}" if whole else words


def _parts(first: int, second: int, language: Language, *, alone: bool) -> str:
    names = {2: ("half", "halves"), 4: ("quarter", "quarters")}
    name = names.get(second) or (ordinal(second, language), ordinal(second, language) + "s")
    if first == 1:
        article = "an" if name[0][0] in "aeiou" else "a"
        return f"one {name[0]}" if alone else f"{article} {name[0]}"
    return f"{cardinal(str(first), language)} {name[1]}"


def _roman(match: re.Match[str], language: Language) -> str | None:
    name, numeral = match[1], match[2]
    number = 0
    for digit, after in zip(numeral, [*numeral[1:], "I"], strict=False):
        worth = _ROMAN_VALUES[digit]
        number += -worth if worth < _ROMAN_VALUES[after] and numeral.index(digit) < len(numeral) - 1 else worth
    if not number:
        return None
    if re.fullmatch(_COUNTED, name):
        return f"{name} {cardinal(str(number), language)}"
    if numeral == "I" and re.match(r" [a-z]", match.string[match.end() :]):
        # "After the talk with Peter I went": a pronoun.
        return None
    return f"{name} the {ordinal(number, language)}"


def _power(match: re.Match[str], language: Language) -> str | None:
    if match[1]:
        return " squared" if match[1] == "²" else " cubed"
    written = match[2] or match[3].translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-"))
    sign = f"{language.minus} " if written[0] == "-" else ""
    base = "" if match[2] else "ten"
    if written == "2" and match[2]:
        return " squared"
    return f"{base} to the power of {sign}{cardinal(written.lstrip('-'), language)}"


NUMBERS = Step("numbers", _apply)
