"""The front door: a user's text in, segments out, each with its place in that text. Pure and lazy.

read (lines or SSML) → per window: unicode, markup, links, emoji → sentences → per sentence: lexicon and the other steps
→ segments within the engine's limit. Nothing is looked at before it is needed, and never more than a window at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tts_service.text import cutting
from tts_service.text.languages import Language, language_of
from tts_service.text.lexicon import Lexicon
from tts_service.text.passage import Edit, Passage
from tts_service.text.reading import check_pauses, read_text
from tts_service.text.scripts import is_speakable
from tts_service.text.segment import Block, Boundary, Pauses, SegmentText
from tts_service.text.sentences import sentences
from tts_service.text.ssml import check_ssml, read_ssml
from tts_service.text.steps import SENTENCE_STEPS, STEP_NAMES, WINDOW_STEPS, raw_phonemes_kept
from tts_service.text.steps.characters import UNICODE

ALL_STEPS = frozenset(STEP_NAMES)


@dataclass(frozen=True)
class Reading:
    """How a text is to be read."""

    language: str
    """BCP 47."""
    max_chars: int
    """Of a segment."""
    steps: frozenset[str] = ALL_STEPS
    """Those that run; `unicode` always does."""
    ssml: bool = False
    raw_phonemes: bool = False
    """The engine takes [[phonemes]]."""
    first_chars: int = 0
    """The first segment ends at a clause within so many characters, where there is one; 0: as all others."""
    pauses: Pauses = field(default_factory=Pauses)
    lexicon: Lexicon | None = None
    speeds: tuple[float, float] = (0.0, 100.0)
    """What the text may ask for, as a factor."""


def check(text: str, reading: Reading) -> None:
    """Raise RequestFailed where the text has orders that cannot be followed: now, and not in mid-audio."""
    if reading.ssml:
        check_ssml(text, language_of(reading.language), reading.speeds)
    else:
        check_pauses(text)
    if reading.lexicon is not None:
        reading.lexicon.refresh(language_of(reading.language))


def segments(text: str, reading: Reading) -> Iterator[SegmentText]:
    """Yield the segments of `text` in order, each within `max_chars` and with something to speak in it."""
    held: SegmentText | None = None
    before_s, ordered_s, unsaid = 0.0, 0.0, tuple[Edit, ...]()
    for block, pieces in _cut_sentences(text, reading):
        pause_s = block.pause_s if block.boundary is Boundary.BREAK else reading.pauses.after(block.boundary)
        explicit = block.boundary is Boundary.BREAK
        speakable = [piece for piece in pieces if is_speakable(piece.text)]
        if not speakable:
            unsaid += block.passage.edits + _not_said(block.passage)
            if held is None:
                before_s += pause_s if explicit else 0.0
            else:
                longer_s = held.pause_after_s + pause_s if explicit else max(held.pause_after_s, pause_s)
                held = replace(held, pause_after_s=longer_s)
                ordered_s += pause_s if explicit else 0.0
            continue
        for number, piece in enumerate(speakable):
            if held is not None:
                yield held
            is_last = number == len(speakable) - 1
            held = _segment(piece, pause_s if is_last else 0.0, block.speed, before_s)
            before_s, ordered_s = 0.0, pause_s if explicit else 0.0
            if number == 0:
                silent = [edit for piece in pieces if not is_speakable(piece.text) for edit in _not_said(piece)]
                held = replace(held, edits=(*unsaid, *block.passage.edits, *silent))
                unsaid = ()
    if held is not None:
        # What is no order of the text's separates, and there is nothing more.
        yield replace(held, pause_after_s=ordered_s, edits=held.edits + unsaid)


def last_sentence(text: str, reading: Reading) -> int:
    """Return where the last sentence of `text` begins, which may go on with what is not known yet."""
    language = language_of(reading.language)
    begin = 0
    for sentence in sentences(_blocks(text, reading, language), language, lambda p: _prepared(p, reading, language)):
        passage = sentence.passage.strip()
        if len(passage):
            begin = passage.source(0, len(passage))[0]
    return begin


def _cut_sentences(text: str, reading: Reading) -> Iterator[tuple[Block, list[Passage]]]:
    language = language_of(reading.language)
    first_chars = reading.first_chars
    for sentence in sentences(_blocks(text, reading, language), language, lambda p: _prepared(p, reading, language)):
        spoken = _spoken(sentence.passage.strip(), reading, language)
        spoken = Passage(spoken.text, spoken.starts, spoken.ends, spoken.fixed, sentence.passage.edits + spoken.edits)
        yield (
            Block(spoken, sentence.boundary, sentence.pause_s, sentence.speed),
            list(cutting.cut(spoken, reading.max_chars, first_chars)),
        )
        if is_speakable(spoken.text):
            first_chars = 0


def _blocks(text: str, reading: Reading, language: Language) -> Iterator[Block]:
    if reading.ssml:
        return read_ssml(text, language, raw_phonemes=reading.raw_phonemes)
    return read_text(text, markdown="markup" in reading.steps, pause_s=reading.pauses.paragraph_s)


def _prepared(passage: Passage, reading: Reading, language: Language) -> Passage:
    passage = UNICODE.apply(passage, language)
    if reading.raw_phonemes:
        passage = raw_phonemes_kept(passage)
    for step in WINDOW_STEPS:
        if step.name in reading.steps and not (reading.ssml and step.name == "markup"):
            passage = step.apply(passage, language)
    return passage


def _spoken(passage: Passage, reading: Reading, language: Language) -> Passage:
    if reading.lexicon is not None:
        passage = reading.lexicon.apply(passage, language, raw_phonemes=reading.raw_phonemes)
    for step in SENTENCE_STEPS:
        if step.name in reading.steps:
            passage = step.apply(passage, language)
    return passage


def _segment(piece: Passage, pause_s: float, speed: float, before_s: float) -> SegmentText:
    start, end = piece.source(0, len(piece))
    return SegmentText(piece.text, start, end, before_s, pause_s, speed, piece)


def _not_said(passage: Passage) -> tuple[Edit, ...]:
    """Name what is left of a sentence in which there is nothing to hear."""
    if not len(passage) or not passage.text.strip():
        return ()
    start, end = passage.source(0, len(passage))
    return (Edit("silent", start, end, passage.text.strip(), ""),)
