"""Which letters a language's espeak voice reads as words, and not by their names. Pure."""

from __future__ import annotations

import unicodedata

from tts_service.allowed import shorten
from tts_service.errors import Code, RequestFailed

# Beginnings of Unicode character names. All voices read Latin and Greek letters; the modifiers are IPA's.
COMMON = ("LATIN", "GREEK", "MODIFIER LETTER")
_CYRILLIC, _ARABIC, _DEVANAGARI, _BENGALI = ("CYRILLIC",), ("ARABIC",), ("DEVANAGARI",), ("BENGALI",)
_HAN = ("CJK", "BOPOMOFO", "IDEOGRAPHIC")

_OWN: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("ba", "be", "bg", "cv", "kk", "ky", "mk", "nog", "ru", "sr", "tt", "uk", "uz"), _CYRILLIC),
    **dict.fromkeys(("ar", "fa", "sd", "ug", "ur", "ps", "ku"), _ARABIC),
    **dict.fromkeys(("hi", "kok", "mr", "ne", "sa"), _DEVANAGARI),
    **dict.fromkeys(("as", "bn", "bpy"), _BENGALI),
    **dict.fromkeys(("cmn", "hak", "yue", "zh"), _HAN),
    "am": ("ETHIOPIC",),
    "chr": ("CHEROKEE",),
    "gu": ("GUJARATI",),
    "he": ("HEBREW",),
    "hy": ("ARMENIAN",),
    "hyw": ("ARMENIAN",),
    "ja": ("HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA", *_HAN),
    "ka": ("GEORGIAN",),
    "kn": ("KANNADA",),
    "ko": ("HANGUL", *_HAN),
    "ml": ("MALAYALAM",),
    "my": ("MYANMAR",),
    "or": ("ORIYA",),
    "pa": ("GURMUKHI", "ARABIC"),
    "shn": ("MYANMAR",),
    "si": ("SINHALA",),
    "ta": ("TAMIL",),
    "te": ("TELUGU",),
    "th": ("THAI",),
}


def scripts_of(espeak_voice: str) -> list[str]:
    """Return the scripts of an espeak voice."""
    language = espeak_voice.rpartition("/")[2].partition("-")[0].lower()
    return [*COMMON, *_OWN.get(language, ())]


def check_letters(text: str, scripts: list[str], voice: str) -> None:
    """Raise RequestFailed where `text` has a letter of another script: espeak would drop it, or say its name.

    So it is for half of a character (a lone surrogate), which is no text.
    """
    for char in text:
        category = unicodedata.category(char)
        if char.isascii() or not (category.startswith("L") or category == "Cs"):
            continue
        name = unicodedata.name(char, "")
        if not name.startswith(tuple(scripts)):
            raise cannot_speak(voice, char, name)


def cannot_speak(voice: str, char: str, name: str = "") -> RequestFailed:
    """Return the refusal of a text because of one character of it."""
    known = f" ({name})" if name else ""
    return RequestFailed(Code.UNSUPPORTED_TEXT, f"voice {voice} cannot speak {shorten(char)}{known}", param="input")
