"""Emoji by their names, a row of the same one once: step `emoji`. Pure."""

from __future__ import annotations

import re

import emoji

from tts_service.text.languages import Language
from tts_service.text.passage import Passage
from tts_service.text.steps.step import Step

# The colour of a hand is seen, not said.
_TONE = re.compile("[\U0001f3fb-\U0001f3ff]")
_NOT_EMOJI = frozenset("©®™#*0123456789↔↕↖↗↘↙ℹ〰‼⁉")


def _apply(passage: Passage, language: Language) -> Passage:
    if passage.text.isascii():
        return passage
    spoken = language.code if language.code in emoji.LANGUAGES else "en"
    changes = list[tuple[int, int, str]]()
    last = ("", -1)
    for found in emoji.emoji_list(passage.text):
        start, end, sign = found["match_start"], found["match_end"], found["emoji"]
        if sign in _NOT_EMOJI or sign[0] in _NOT_EMOJI or 1 in passage.fixed[start:end]:
            continue
        repeated = last[0] == sign and not passage.text[last[1] : start].strip()
        last = (sign, end)
        plain = _TONE.sub("", sign)
        name = emoji.demojize(plain, language=spoken, delimiters=("", "")).replace("_", " ").replace("-", " ")
        before = passage.text[start - 1 : start]
        after = passage.text[end : end + 1]
        left = " " if before and not before.isspace() else ""
        right = " " if after and not after.isspace() and after not in ".,;:!?)" else ""
        changes.append((start, end, "" if repeated else f"{left}{name}{right}"))
    return passage.replaced("emoji", changes, final=False) if changes else passage


EMOJI = Step("emoji", _apply)
