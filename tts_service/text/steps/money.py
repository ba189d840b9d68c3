"""Prices: step `currency`. Pure."""

from __future__ import annotations

import re

from babel import Locale
from babel.numbers import get_currency_name

from tts_service.text.amounts import AFTER, BEFORE, amount_words, before_noun, compiled, split_amount, value
from tts_service.text.languages import Language
from tts_service.text.number_words import cardinal
from tts_service.text.passage import Passage
from tts_service.text.steps.step import Step

_SIGNS = {
    "US$": "USD",
    "C$": "CAD",
    "CA$": "CAD",
    "A$": "AUD",
    "AU$": "AUD",
    "NZ$": "NZD",
    "HK$": "HKD",
    "R$": "BRL",
    "$": "USD",
    "€": "EUR",
    "£": "GBP",
    "¥": "JPY",
    "₹": "INR",
    "₩": "KRW",
    "₽": "RUB",
    "₺": "TRY",
    "₴": "UAH",
    "₪": "ILS",
    "₫": "VND",
    "₱": "PHP",
    "₿": "XBT",
    "zł": "PLN",
}
_CODES = (
    "USD",
    "EUR",
    "GBP",
    "JPY",
    "CHF",
    "CAD",
    "AUD",
    "NZD",
    "CNY",
    "INR",
    "SEK",
    "NOK",
    "DKK",
    "PLN",
    "CZK",
    "BRL",
    "MXN",
    "ZAR",
)
_SIGN = "|".join(re.escape(sign) for sign in sorted(_SIGNS, key=len, reverse=True))
_CODE = "|".join(_CODES)
_SCALES = {
    "k": "thousand",
    "K": "thousand",
    "m": "million",
    "M": "million",
    "mn": "million",
    "bn": "billion",
    "B": "billion",
    "b": "billion",
    "tn": "trillion",
    "T": "trillion",
}
_SCALE_WORDS = (
    "thousand|million|billion|trillion|Millionen?|Milliarden?|Mio\\.?|Mrd\\.?|millions?|milliards?|"
    "millones|millón|milioni|miliardi|milhões|miljoen|miljard"
)
_SHORT_SCALES = "|".join(sorted(_SCALES, key=len, reverse=True))
_SCALE = rf"(?:(?P<short>{_SHORT_SCALES})\b|(?P<link>[ -]| de | di )(?P<scale>{_SCALE_WORDS})(?!\w))?"
_PER_UNITS = {
    "lb": "pound", "oz": "ounce", "kg": "kilogram", "g": "gram", "hr": "hour", "h": "hour", "min": "minute",
    "mo": "month", "yr": "year", "gal": "gallon", "mi": "mile", "km": "kilometer", "m": "meter", "l": "liter",
}  # fmt: skip
_PER = f"(?:{'|'.join(_PER_UNITS)})"
_PREFIXED = (
    rf"(?P<minus>(?<!\w)[-−])?(?<![A-Za-z0-9])(?P<sign>{_SIGN}|(?:{_CODE})(?= ?[0-9])) ?(?P<amount>AMOUNT)"
    rf"(?: ?[-–] ?(?:{_SIGN})?(?P<until>AMOUNT))?{_SCALE}(?P<per>/(?:{_PER}\b|(?=[a-z])))?{AFTER}"
)
_SUFFIXED = (
    rf"(?P<minus>(?<![\w])[-−])?{BEFORE}(?P<amount>AMOUNT)(?:[-–](?P<until>AMOUNT))?{_SCALE}"
    rf" ?(?P<sign>{_SIGN}|(?:{_CODE})\b)(?P<per>/(?:{_PER}\b|(?=[a-z])))?(?![0-9A-Za-z])"
)
_CENTS = r"(?<![\w.,])(?P<amount>AMOUNT) ?¢"
_MINOR = {
    "en": {
        "USD": ("cent", "cents"),
        "CAD": ("cent", "cents"),
        "AUD": ("cent", "cents"),
        "EUR": ("cent", "cents"),
        "GBP": ("penny", "pence"),
        "NZD": ("cent", "cents"),
    },
    "de": {"EUR": ("Cent", "Cent"), "USD": ("Cent", "Cent")},
    "fr": {"EUR": ("centime", "centimes")},
    "es": {"EUR": ("céntimo", "céntimos"), "USD": ("centavo", "centavos")},
    "it": {"EUR": ("centesimo", "centesimi")},
    "pt": {"EUR": ("cêntimo", "cêntimos"), "BRL": ("centavo", "centavos")},
    "nl": {"EUR": ("cent", "cent")},
}


def _apply(passage: Passage, language: Language) -> Passage:
    if not language.reads_numbers:
        return passage
    for template in (_PREFIXED, _SUFFIXED):
        passage = passage.sub("currency", compiled(template, language), lambda match: _price(match, language))
    if "¢" in passage.text:
        passage = passage.sub("currency", compiled(_CENTS, language), lambda match: _cents(match, language))
    return passage


def _price(match: re.Match[str], language: Language) -> str | None:
    code = _SIGNS.get(match["sign"], match["sign"])
    minus = f"{language.minus} " if match["minus"] else ""
    per = f" {language.per} {_per(match['per'], language)}" if match["per"] else ""
    amount, until = match["amount"], match["until"]
    scale = match["scale"] or (_SCALES[match["short"]] if match["short"] else "")
    if match["short"] and language.code != "en":
        return None
    if scale or until:
        words = amount_words(amount, language)
        words += f" {language.to} {amount_words(until, language)}" if until else ""
        scale = {"Mio.": "Millionen", "Mio": "Millionen", "Mrd.": "Milliarden", "Mrd": "Milliarden"}.get(scale, scale)
        return f"{minus}{words} {scale}".rstrip() + f" {_name(code, 2, language)}{per}"
    return minus + _plain(amount, code, language) + per


def _per(written: str, language: Language) -> str:
    """Return the unit of a price; of one that is written out nothing: it follows."""
    name = written[1:]
    return _PER_UNITS[name] if language.code == "en" and name else name


def _plain(amount: str, code: str, language: Language) -> str:
    whole, part = split_amount(amount, language)
    minor = _MINOR[language.code].get(code)
    if len(part) == 2 and part != "00":
        cents = part.lstrip("0")
        if minor and not whole.strip("0"):
            return f"{cardinal(cents, language)} {minor[cents != '1']}"
        if minor or language.code != "en":
            return language.price.format(
                whole=before_noun(whole, language),
                unit=_name(code, value(whole, language), language),
                part=cardinal(cents, language),
                cents=minor[cents != "1"] if minor else "",
            ).strip()
    if part and part.strip("0") and len(part) != 2:
        return f"{amount_words(amount, language)} {_name(code, 2, language)}"
    if part and part.strip("0"):
        return f"{amount_words(amount, language)} {_name(code, 2, language)}"
    return f"{before_noun(whole or '0', language)} {_name(code, value(whole or '0', language), language)}"


def _name(code: str, count: float, language: Language) -> str:
    if code in language.money:
        singular, plural = language.money[code]
        return singular if count == 1 or (language.code == "fr" and count < 2) else plural
    return str(get_currency_name(code, count, Locale.parse(language.locale)))


def _cents(match: re.Match[str], language: Language) -> str | None:
    minor = _MINOR[language.code].get("USD") or _MINOR[language.code].get("EUR")
    if minor is None:
        return None
    return f"{amount_words(match['amount'], language)} {minor[match['amount'] != '1']}"


MONEY = Step("currency", _apply)
