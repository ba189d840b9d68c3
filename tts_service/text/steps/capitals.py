"""WORDS IN CAPITALS that are shouted and not spelled: step `capitals`. Pure.

Engines spell what they take for an abbreviation; a word of a shouted sentence is none.
"""

from __future__ import annotations

import re

from tts_service.text.languages import Language
from tts_service.text.passage import Passage
from tts_service.text.steps.step import Step

_WORD = re.compile(r"(?<![\w.&@'])[^\W\d_a-z]{2,}(?:['’][^\W\d_a-z]{1,3})?(?![\w@&]|\.\w)")
_VOWEL = re.compile(r"[AEIOUYÀ-ÆÈ-ÏÒ-ÖÙ-Ý]")
_SPELLED_WORDS = (
    "AI AM API ATM AWS BBC BMW CD CEO CFO CIA CNN CPU CSS CTO DIY DNA DVD EU EUR FAQ FBI FYI GB GPS GPU "
    "HIV HR HTML HTTP HTTPS IBM ID IDE IMF IO IOS IP IQ IRS ISO IT JPEG JSON KGB KPI LED LLC MIT MP MRI "
    "NBA NBC NFL NHL NHS NYC OECD OK PC PDF PHD PIN PM PNG POW PR PS QA QR RNA ROI SEO SIM SMS SOS SQL "
    "SSD SUV TV UFO UK UN UPS URL US USA USB USD UV VIP VPN WHO WWW XML ADHD AIDS ASAP IKEA NASA NATO "
    "OPEC UNESCO UNICEF ASCII CAPTCHA TTS II III IV VI VII VIII IX XI XII "
)
_SPELLED = frozenset(_SPELLED_WORDS.split())


def _apply(passage: Passage, language: Language) -> Passage:
    words = [match for match in _WORD.finditer(passage.text) if match[0].isupper()]
    if not words:
        return passage
    shouted = _shouted(passage.text, [match.span() for match in words])

    def lower(match: re.Match[str]) -> str | None:
        word = match[0]
        if not word.isupper() or word in _SPELLED or not _VOWEL.search(word):
            return None
        if match.span() not in shouted and len(word) < 6:
            return None
        small = word.lower() if not _begins(match) else word.capitalize()
        # "İ" in small letters is two characters.
        return small if len(small) == len(word) else None

    return passage.sub("capitals", _WORD, lower, final=False)


def _shouted(text: str, spans: list[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return the words of rows of two or more, one of them longer than an abbreviation."""
    found, row = set[tuple[int, int]](), list[tuple[int, int]]()
    for span in [*spans, (len(text) + 9, len(text) + 9)]:
        if row and re.fullmatch(r"[\s,;:'\"!?\-–—IA0-9]{1,8}", text[row[-1][1] : span[0]]):
            row.append(span)
            continue
        if len(row) > 1 and max(end - start for start, end in row) >= 4:
            found |= set(row)
        row = [span]
    return found


def _begins(match: re.Match[str]) -> bool:
    return not match.string[: match.start()].strip("\"'“‘(¡¿ ")


CAPITALS = Step("capitals", _apply)
