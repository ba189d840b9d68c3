"""Characters that nobody hears go, and rare forms of known ones become these: step `unicode`. Pure."""

from __future__ import annotations

import re
import unicodedata

from tts_service.text.languages import Language
from tts_service.text.passage import Passage
from tts_service.text.steps.step import Step

# Direction marks, soft hyphens and word joiners. The joiners U+200C and U+200D are part of Indic and Persian spelling
# and of emoji; between Latin letters nobody hears them either.
_UNHEARD = "\u00ad\u034f\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb"
_BETWEEN_LATIN = re.compile(r"(?<=[\u0000-\u024f])[\u200c\u200d]+|[\u200c\u200d]+(?=[\u0000-\u024f])")
_NOT_HEARD = re.compile(f"[{_UNHEARD}]+")
# NUL to US without tab, line feed and carriage return; DEL and the C1 controls; unassigned and private ones.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd\ufffe\uffff]+")
_SPACE = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\t]")
# A letter and its accent written apart; engines' word lists have them in one.
_APART = re.compile("[^\\W\\d_][\u0300-\u036f]+")
_FANCY = re.compile(
    "[\u2460-\u249b\u24b6-\u24ea\u24f5-\u24ff\u2776-\u2793\ufb00-\ufb06\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff]"
)
# Digits of other scripts; step `numbers` knows these ten.
_DIGIT = re.compile(r"(?![0-9])\d")
_APOSTROPHE = re.compile(r"(?<=\w)[\u02bc\u2019\u2032](?=\w)")


def _apply(passage: Passage, language: Language) -> Passage:
    if passage.text.isascii() and passage.text.isprintable():
        return passage
    passage = passage.sub("unheard", _NOT_HEARD, "", final=False)
    passage = passage.sub("unheard", _BETWEEN_LATIN, "", final=False)
    passage = passage.sub("control", _CONTROL, " ", final=False)
    passage = passage.sub("unicode", _SPACE, " ", final=False)
    passage = passage.sub("unicode", _APART, lambda match: unicodedata.normalize("NFC", match[0]), final=False)
    passage = passage.sub("unicode", _FANCY, lambda match: unicodedata.normalize("NFKC", match[0]), final=False)
    passage = passage.sub("unicode", _DIGIT, lambda match: str(unicodedata.decimal(match[0])), final=False)
    return passage.sub("unicode", _APOSTROPHE, "'", final=False)


UNICODE = Step("unicode", _apply)
