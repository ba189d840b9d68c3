"""Marks in rows, and marks glued between words: step `punctuation`. Pure."""

from __future__ import annotations

import re

from tts_service.text.languages import Language
from tts_service.text.passage import Passage
from tts_service.text.steps.step import Step

_MIXED = re.compile(r"[!?]*\?[!?]*(?<=[!?]{2})|!{2,}")
_DOTS = re.compile(r"\.{2,}|…{2,}|(?:\. ){2,}\.")
_COMMAS = re.compile(r",{2,}|;{2,}|:{2,}")
_DASHES = re.compile(r"(?<=[\w.!?,)\]\"'”’])(?:—+|–{2,}|-{2,})(?=[\w(\[\"'“‘])")
_LOOSE_DASH = re.compile(r"(?<=\s)(?:-{1,3}|–|—{2,})(?=\s)")
_BRACKETS = re.compile(r"(?<=\w)([\[{])|([\]}])(?=\w)")
_GLUED = re.compile(r"(?<=[)\]])(?=[^\W_])|(?<=[^\W\d_]{2})(?=\([^\W\d_]{2})")
_SPACES = re.compile(r"\s{2,}|[\r\n\t]")
_SPACE_BEFORE = re.compile(r"(?<=\w) +(?=[,.;:!?](?:\s|$))")


def _apply(passage: Passage, language: Language) -> Passage:
    passage = passage.sub("punctuation", _MIXED, lambda m: "?" if "?" in m[0] else "!", final=False)
    passage = passage.sub("punctuation", _DOTS, "…", final=False)
    passage = passage.sub("punctuation", _COMMAS, lambda m: m[0][0], final=False)
    passage = passage.sub("punctuation", _DASHES, " — ", final=False)
    passage = passage.sub("punctuation", _LOOSE_DASH, "—", final=False)
    if language.code != "fr":
        passage = passage.sub("punctuation", _SPACE_BEFORE, "", final=False)
    passage = passage.sub("punctuation", _BRACKETS, lambda m: " (" if m[1] else ") ", final=False)
    glued = [match.start() for match in _GLUED.finditer(passage.text) if not passage.fixed[match.start() - 1]]
    changes = [(at - 1, at, passage.text[at - 1] + " ") for at in glued]
    passage = passage.replaced("punctuation", changes, final=False) if changes else passage
    # Words of earlier steps bring spaces of their own, which are nobody's words.
    spaces = [(*match.span(), " ") for match in _SPACES.finditer(passage.text)]
    return passage.replaced("punctuation", spaces, final=False) if spaces else passage


PUNCTUATION = Step("punctuation", _apply)
