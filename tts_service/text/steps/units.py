"""Quantities with a unit of measurement: step `units`. Pure."""

from __future__ import annotations

import functools
import re

from babel import Locale
from babel.numbers import format_decimal
from babel.units import format_unit

from tts_service.text.amounts import AFTER, BEFORE, amount_words, before_noun, compiled, value
from tts_service.text.languages import Language
from tts_service.text.passage import Passage
from tts_service.text.steps.step import Step

# By CLDR's names, which Babel has in every language, with their plurals.
_UNITS = {
    "km": "length-kilometer", "m": "length-meter", "dm": "length-decimeter", "cm": "length-centimeter",
    "mm": "length-millimeter", "µm": "length-micrometer", "μm": "length-micrometer", "nm": "length-nanometer",
    "mi": "length-mile", "yd": "length-yard", "ft": "length-foot", "ft.": "length-foot",
    "in.": "length-inch", "kg": "mass-kilogram", "g": "mass-gram", "mg": "mass-milligram", "µg": "mass-microgram",
    "μg": "mass-microgram", "lb": "mass-pound", "lbs": "mass-pound", "lbs.": "mass-pound", "lb.": "mass-pound",
    "oz": "mass-ounce", "oz.": "mass-ounce", "t": "mass-tonne", "°C": "temperature-celsius", "℃": "temperature-celsius",
    "°F": "temperature-fahrenheit", "℉": "temperature-fahrenheit", "km/h": "speed-kilometer-per-hour",
    "kph": "speed-kilometer-per-hour", "kmh": "speed-kilometer-per-hour", "mph": "speed-mile-per-hour",
    "m/s": "speed-meter-per-second", "kB": "digital-kilobyte", "KB": "digital-kilobyte", "MB": "digital-megabyte",
    "GB": "digital-gigabyte", "TB": "digital-terabyte", "PB": "digital-petabyte", "Mb": "digital-megabit",
    "Gb": "digital-gigabit", "Hz": "frequency-hertz", "kHz": "frequency-kilohertz", "MHz": "frequency-megahertz",
    "GHz": "frequency-gigahertz", "W": "power-watt", "kW": "power-kilowatt", "MW": "power-megawatt",
    "GW": "power-gigawatt", "mW": "power-milliwatt", "hp": "power-horsepower", "kWh": "energy-kilowatt-hour",
    "kcal": "energy-kilocalorie", "cal": "energy-calorie", "kJ": "energy-kilojoule", "J": "energy-joule",
    "V": "electric-volt", "mA": "electric-milliampere", "Ω": "electric-ohm", "l": "volume-liter",
    "L": "volume-liter", "ml": "volume-milliliter", "mL": "volume-milliliter", "cl": "volume-centiliter",
    "dl": "volume-deciliter", "gal": "volume-gallon", "gal.": "volume-gallon", "tsp": "volume-teaspoon",
    "tbsp": "volume-tablespoon", "tsp.": "volume-teaspoon",
    "tbsp.": "volume-tablespoon", "m²": "area-square-meter", "m2": "area-square-meter", "km²": "area-square-kilometer",
    "km2": "area-square-kilometer", "cm²": "area-square-centimeter", "ha": "area-hectare", "m³": "volume-cubic-meter",
    "m3": "volume-cubic-meter", "cm³": "volume-cubic-centimeter", "s": "duration-second", "sec": "duration-second",
    "sec.": "duration-second", "secs": "duration-second", "ms": "duration-millisecond", "µs": "duration-microsecond",
    "μs": "duration-microsecond", "ns": "duration-nanosecond", "min": "duration-minute", "min.": "duration-minute",
    "mins": "duration-minute", "h": "duration-hour", "hr": "duration-hour", "hrs": "duration-hour",
    "hr.": "duration-hour", "hrs.": "duration-hour", "hPa": "pressure-hectopascal", "kPa": "pressure-kilopascal",
    "Pa": "pressure-pascal", "psi": "pressure-pound-force-per-square-inch", "mbar": "pressure-millibar",
    "px": "graphics-pixel", "MP": "graphics-megapixel", "dpi": "graphics-dot-per-inch", "lx": "light-lux",
}  # fmt: skip
_ENGLISH = {
    "dB": ("decibel", "decibels"),
    "dBA": ("decibel A", "decibels A"),
    "rpm": ("revolution per minute", "revolutions per minute"),
    "bpm": ("beat per minute", "beats per minute"),
    "fps": ("frame per second", "frames per second"),
    "Mbps": ("megabit per second", "megabits per second"),
    "Gbps": ("gigabit per second", "gigabits per second"),
    "kbps": ("kilobit per second", "kilobits per second"),
    "Mbit/s": ("megabit per second", "megabits per second"),
    "MB/s": ("megabyte per second", "megabytes per second"),
    "mAh": ("milliampere hour", "milliampere hours"),
    "mpg": ("mile per gallon", "miles per gallon"),
    "mol": ("mole", "moles"),
    "MW/h": ("megawatt per hour", "megawatts per hour"),
    "m/s²": ("meter per second squared", "meters per second squared"),
    "sq ft": ("square foot", "square feet"),
    "sq. ft.": ("square foot", "square feet"),
    "g/L": ("gram per liter", "grams per liter"),
    "mg/L": ("milligram per liter", "milligrams per liter"),
    "kg/m³": ("kilogram per cubic meter", "kilograms per cubic meter"),
}
# A space may stand before most; these are words or names behind one.
_TOUCHING = frozenset({"s", "m2", "m3", "Pa", "J", "t"})


def _apply(passage: Passage, language: Language) -> Passage:
    if not language.reads_numbers:
        return passage
    if language.code == "en":
        passage = _after_fractions(passage, language)
    passage = passage.sub("units", _pattern(language), lambda match: _quantity(match, language))
    if language.code == "en":
        passage = passage.sub("units", _HEIGHT, lambda m: _height(m, language))
    return passage


_FRACTION = r"(?<![\w/.,])(?:(?:[0-9]{1,3}[ \-])?[0-9]{1,2}/[0-9]{1,2}|[0-9]{0,3} ?[½⅓⅔¼¾⅛⅜⅝⅞])"


def _after_fractions(passage: Passage, language: Language) -> Passage:
    """Write units out behind fractions, which the step `numbers` reads."""
    pattern = re.compile(rf"{_FRACTION}[ \-]?({_names(language)})(?![\w/²³])")
    changes = []
    for match in pattern.finditer(passage.text):
        several = match[0][0].isdigit() and (" " in match[0][: match.start(1) - match.start() - 1] or "-" in match[0])
        name = _with_unit("", match[1], 2.0 if several else 1.0, language).strip()
        before = "" if match.string[match.start(1) - 1] in " -" else " "
        changes.append((*match.span(1), before + name))
    return passage.replaced("units", changes) if changes else passage


@functools.lru_cache(maxsize=16)
def _names(language: Language) -> str:
    known = [*_UNITS, *(_ENGLISH if language.code == "en" else ())]
    return "|".join(re.escape(name) for name in sorted(known, key=len, reverse=True))


@functools.lru_cache(maxsize=16)
def _pattern(language: Language) -> re.Pattern[str]:
    known = [*_UNITS, *(_ENGLISH if language.code == "en" else ())]
    spaced = "|".join(re.escape(name) for name in sorted(known, key=len, reverse=True) if name not in _TOUCHING)
    touching = _names(language)
    number = (
        rf"(?P<minus>(?<![\w])[-−])?(?<![A-Za-z]){BEFORE}(?P<amount>AMOUNT)(?: ?(?P<dash>[-–x×]) ?(?P<until>AMOUNT))?"
    )
    return compiled(
        rf"{number}(?:[ -](?P<spaced>{spaced})|(?P<touching>{touching}))(?P<per>/(?=[a-z]))?(?![\w/²³]){AFTER}",
        language,
    )


def _quantity(match: re.Match[str], language: Language) -> str:
    unit = match["spaced"] or match["touching"]
    amount, until = match["amount"], match["until"]
    minus = f"{language.minus} " if match["minus"] else ""
    words = before_noun(amount, language)
    if until:
        between = language.to if match["dash"] in "-–" else language.by
        words = f"{words} {between} {amount_words(until, language)}"
    counted = value(until or amount, language)
    per = f" {language.per} " if match["per"] else ""
    stop = "." if unit.endswith(".") and not match.string[match.end() :].strip("\"'”’)] ") else ""
    return minus + _with_unit(words, unit, counted, language) + per + stop


def _with_unit(words: str, unit: str, counted: float, language: Language) -> str:
    if unit in _UNITS:
        locale = Locale.parse(language.locale)
        written = format_unit(counted, _UNITS[unit], length="long", locale=locale)
        if language.code == "en" and unit in ("°F", "℉"):
            return f"{words} degrees Fahrenheit"
        return str(written).replace(str(format_decimal(counted, locale=locale)), words).replace("\u00a0", " ")
    singular, plural = _ENGLISH[unit]
    return f"{words} {singular if counted == 1 else plural}"


_HEIGHT = re.compile(r"(?<![\w.,])([0-9]{1,2})['′] ?(?:([0-9]{1,2})(?:[\"″”]|''))?(?!\w)")


def _height(match: re.Match[str], language: Language) -> str | None:
    if not match[2] and "′" not in match[0]:
        return None
    feet = f"{amount_words(match[1], language)} {'foot' if match[1] == '1' else 'feet'}"
    return feet + (f" {amount_words(match[2], language)}" if match[2] else "")


UNITS = Step("units", _apply)
