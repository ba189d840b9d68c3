"""Blocks in sentences, by sentencex, with what it is known to cut wrongly put together again. Pure and lazy."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator

import sentencex

from tts_service.text.abbreviation_lists import NEVER_LAST, SELDOM_LAST
from tts_service.text.languages import Language
from tts_service.text.passage import Passage
from tts_service.text.reading import WINDOW
from tts_service.text.segment import Block, Boundary

_LAST_WORD = re.compile(r"([\w.]*\w)\.[\"'”’)]*\s*$")
_ONLY_NUMBER = re.compile(r"\s*\(?(?:[0-9]{1,3}|[a-zA-Z])[.)]\s*$")
_ORDINAL_LANGUAGES = frozenset({"de", "da", "no", "nb", "fi", "cs", "sk", "hu", "pl"})
_ENDS_IN_ORDINAL = re.compile(r"(?<![\w.,])[0-9]{1,2}\.\s*$")


def sentences(blocks: Iterator[Block], language: Language, prepare: Callable[[Passage], Passage]) -> Iterator[Block]:
    """Yield a block for each sentence; `prepare` takes the marks out that would be in the way."""
    held: Passage | None = None
    for block in blocks:
        passage = prepare(block.passage)
        passage = Passage.join([held, passage]) if held is not None and len(held) else _keep_edits(held, passage)
        goes_on = block.boundary is Boundary.NONE
        cuts = _cuts(passage, language)
        if goes_on:
            cuts = cuts[:-1] or _window_end(passage)
        parts = _split(passage, cuts)
        held = parts.pop() if goes_on else None
        for part in parts[: None if goes_on else -1]:
            yield Block(part, Boundary.SENTENCE, speed=block.speed)
        if not goes_on:
            yield Block(parts[-1], block.boundary, block.pause_s, block.speed)
    if held is not None:
        yield Block(held, Boundary.PARAGRAPH)


def _keep_edits(held: Passage | None, passage: Passage) -> Passage:
    return passage if held is None or not held.edits else Passage.join([held, passage])


def _window_end(passage: Passage) -> list[int]:
    """Return where to cut a sentence that has no end within a window."""
    if len(passage) <= WINDOW:
        return []
    cut = passage.text.rfind(" ", 1, WINDOW) + 1
    return [cut or WINDOW]


def _cuts(passage: Passage, language: Language) -> list[int]:
    """Return the ends of the sentences of a passage, its own included where it has any character."""
    text = passage.text
    if not text.strip():
        return [len(text)] if text else []
    ends, at, pending = list[int](), 0, 0
    for sentence in sentencex.segment(language.code or "en", text):
        found = text.find(sentence, at)
        if found < 0:
            continue
        at = found + len(sentence)
        if at < len(text) and (_is_open(text[pending:at], text[at : at + 1], language) or _within_words(passage, at)):
            continue
        ends.append(at)
        pending = at
    if not ends or ends[-1] < len(text):
        ends.append(len(text))
    return ends


def _is_open(sentence: str, after: str, language: Language) -> bool:
    """Return True where the dot at the end belongs to an abbreviation or a number in front of something."""
    if _ONLY_NUMBER.match(sentence) or not any(map(str.isalnum, sentence)):
        return True
    if language.code in _ORDINAL_LANGUAGES and _ENDS_IN_ORDINAL.search(sentence):
        return True
    last = _LAST_WORD.search(sentence)
    if last is None:
        return False
    word = last[1].lower()
    if language.code == "de" and word.endswith("str") and after.isdigit():
        return True
    return word in NEVER_LAST.get(language.code, ()) or (after.islower() and word in SELDOM_LAST)


def _within_words(passage: Passage, at: int) -> bool:
    """Return True inside words that stand for one thing: an address, phonemes."""
    same = passage.fixed[at - 1] and passage.fixed[at] if at < len(passage) else 0
    return bool(same) and passage.starts[at - 1] == passage.starts[at]


def _split(passage: Passage, cuts: list[int]) -> list[Passage]:
    """Return the parts up to each cut and what is behind the last, each with its own edits."""
    bounds = [0, *cuts] if cuts and cuts[-1] == len(passage) else [0, *cuts, len(passage)]
    if len(bounds) == 1:
        return [passage]
    parts = [passage.cut(start, end) for start, end in itertools.pairwise(bounds)]
    edits, n = list(passage.edits), 0
    found = []
    for number, part in enumerate(parts):
        is_last = number == len(parts) - 1
        end = max(part.ends, default=0)
        own = []
        while n < len(edits) and (is_last or edits[n].start < end):
            own.append(edits[n])
            n += 1
        found.append(Passage(part.text, part.starts, part.ends, part.fixed, tuple(own)))
    return found
