"""Telephone numbers digit by digit, in their groups: step `phones`. Pure."""

from __future__ import annotations

import re

from tts_service.text.languages import Language
from tts_service.text.number_words import one_by_one
from tts_service.text.passage import Passage
from tts_service.text.steps.step import Step

_INTERNATIONAL = re.compile(r"(?<![\w+])\+[0-9]{1,3}(?:[ .\-/]?\(?[0-9]{1,4}\)?){2,6}(?![\w])")
# 555-1234, (555) 123-4567, 555.123.4567, 1-800-555-1234
_AMERICAN = re.compile(
    r"(?<![\w\-.])(?:1[ \-.])?(?:\([0-9]{3}\) ?|[0-9]{3}[ \-.])[0-9]{3}[\-.][0-9]{4}(?![\w\-]|\.[0-9])"
    r"|(?<![\w\-.])[0-9]{3}-[0-9]{4}(?![\w\-]|\.[0-9])"
)
_NATIONAL = re.compile(r"(?<![\w\-.,])(?:\(0[0-9]{1,4}\)|0[0-9]{1,4})(?:[ /\-][0-9]{2,8}){1,4}(?![\w\-]|[.,][0-9])")

# Cards, book numbers, social security.
_GROUPS = re.compile(r"(?<![\w\-.,])(?:[0-9]{1,7}(?:-[0-9]{1,7}){2,6}|[0-9]{4}(?: [0-9]{4}){2,4})(?![\w\-]|[.,][0-9])")


def _apply(passage: Passage, language: Language) -> Passage:
    if not language.reads_numbers:
        return passage

    def say(match: re.Match[str]) -> str | None:
        groups = re.findall(r"[0-9]+", match[0])
        if sum(map(len, groups)) < 7:
            return None
        plus = f"{language.plus} " if match[0][0] == "+" else ""
        return plus + ", ".join(one_by_one(group, language) for group in groups)

    passage = passage.sub("phones", _INTERNATIONAL, say)
    if language.code == "en":
        passage = passage.sub("phones", _AMERICAN, say)
    return passage.sub("phones", _NATIONAL, say).sub("phones", _GROUPS, say)


PHONES = Step("phones", _apply)
