"""Addresses of pages and mail as people say them: step `links`. Pure."""

from __future__ import annotations

import re

from tts_service.text.languages import Language
from tts_service.text.passage import Passage
from tts_service.text.steps.step import Step

_MAIL = re.compile(r"(?<![\w@])(?:mailto:)?([\w.+-]{1,64})@((?:[\w-]{1,63}\.)+[^\W\d_]{2,24})(?![\w@])")
_TOP_LEVEL = (
    "com|org|net|edu|gov|io|ai|dev|app|info|biz|co|de|fr|es|it|nl|uk|eu|ch|at|be|pl|se|no|jp|us|ca|au|nz|ie|tv|me"
)
_URL = re.compile(
    r"(?:(?:https?|ftp)://|(?<![\w@.])www\.)[^\s<>\"“”]{1,2000}"
    rf"|(?<![\w@.])(?:[\w-]{{1,63}}\.){{1,4}}(?:{_TOP_LEVEL})(?![\w@])(?:/[^\s<>\"“”]{{0,2000}})?",
)
_TRAILING = re.compile(r"[.,;:!?'\")\]*_…]+$")
_SCHEME = re.compile(r"^(?:https?|ftp)://(?:www\.)?|^www\.")
_WORD = re.compile(r"[^\W_]+|.", re.DOTALL)
# Beyond it nobody listens to the letters of an address: its host is said.
_LONGEST_PATH = 60


def _apply(passage: Passage, language: Language) -> Passage:
    if not language.dot or "." not in passage.text:
        return passage
    passage = passage.sub("links", _MAIL, lambda m: f"{_spell(m[1], language)} {language.at} {_spell(m[2], language)}")
    changes = []
    for match in _URL.finditer(passage.text):
        address = _TRAILING.sub("", match[0])
        words = _address(address, language)
        end = match.start() + len(address)
        if words and 1 not in passage.fixed[match.start() : end]:
            changes.append((match.start(), end, words))
    return passage.replaced("links", changes) if changes else passage


def _address(address: str, language: Language) -> str:
    place = _SCHEME.sub("", address).rstrip("/")
    host, _, path = place.partition("/")
    if len(path) > _LONGEST_PATH or "?" in path or "#" in path:
        return _spell(host, language)
    return _spell(place, language)


def _spell(address: str, language: Language) -> str:
    names = {
        ".": language.dot,
        "/": language.slash,
        "-": language.dash,
        "_": language.underscore,
        "@": language.at,
        "+": language.plus,
        "=": language.equals,
        "%": language.percent,
        "&": language.and_,
        ":": "",
    }
    return " ".join(word for word in (names.get(part, part) for part in _WORD.findall(address)) if word)


LINKS = Step("links", _apply)
