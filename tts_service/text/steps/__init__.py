"""The steps from written to spoken text. Each is pure, knows nothing of the others, and has a name that people see."""

from __future__ import annotations

import re

from tts_service.text.passage import Passage
from tts_service.text.steps.abbreviations import ABBREVIATIONS
from tts_service.text.steps.capitals import CAPITALS
from tts_service.text.steps.characters import UNICODE
from tts_service.text.steps.dates import DATES
from tts_service.text.steps.emojis import EMOJI
from tts_service.text.steps.links import LINKS
from tts_service.text.steps.markup import MARKUP
from tts_service.text.steps.money import MONEY
from tts_service.text.steps.numbers import NUMBERS
from tts_service.text.steps.phones import PHONES
from tts_service.text.steps.punctuation import PUNCTUATION
from tts_service.text.steps.step import Step
from tts_service.text.steps.symbols import SYMBOLS
from tts_service.text.steps.times import TIMES
from tts_service.text.steps.units import UNITS

# Before sentences are looked for: their dots and marks would be taken for ends.
WINDOW_STEPS: tuple[Step, ...] = (MARKUP, LINKS, EMOJI)
# In this order: what is left of a date would be a plain number to the next.
SENTENCE_STEPS: tuple[Step, ...] = (
    DATES,
    PHONES,
    TIMES,
    MONEY,
    UNITS,
    ABBREVIATIONS,
    NUMBERS,
    CAPITALS,
    SYMBOLS,
    PUNCTUATION,
)
STEP_NAMES: tuple[str, ...] = tuple(step.name for step in (UNICODE, *WINDOW_STEPS, *SENTENCE_STEPS))

_RAW = re.compile(r"\[\[[^\[\]]{1,400}\]\]")


def raw_phonemes_kept(passage: Passage) -> Passage:
    """Return the passage with its [[phonemes]] marked as they shall be spoken."""
    fixed = bytearray(passage.fixed)
    for match in _RAW.finditer(passage.text):
        fixed[match.start() : match.end()] = b"\1" * (match.end() - match.start())
    return Passage(passage.text, passage.starts, passage.ends, bytes(fixed), passage.edits)
