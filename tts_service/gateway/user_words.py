"""From the words that are spoken to the words of the user's own text, over the ends of segments. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tts_service.gateway.spoken_words import SpokenSegment
from tts_service.protocol import Word
from tts_service.text.segment import SegmentText


@dataclass(frozen=True)
class UserWord:
    """What the user wrote and how long it takes; spoken it may be several words: "$5", "five dollars"."""

    segment: SpokenSegment
    """In which it begins."""
    start_char: int
    """Of the user's text."""
    end_char: int
    text_start: int
    """Its first character in the text of its segment."""
    start_sample: int
    """At the engine's rate, from the start of the request."""
    end_sample: int


class UserWords:
    """Takes segments in text order. What stands for the same characters is one word, so none of them overlap."""

    def __init__(self, text: str, *, wordless: bool = False) -> None:
        self._text = text
        """The user's."""
        self._wordless = wordless
        """True where a segment of which no words are known shall be as one."""
        self._held: UserWord | None = None

    def push(self, segment: SpokenSegment) -> list[UserWord]:
        """Return the words that are known now. One that the next segment may go on with is held back."""
        found: list[UserWord] = []
        spoken = segment.words or (_all_of(segment) if self._wordless else ())
        for word in spoken:
            start, end = self._place(segment.text, word)
            new = UserWord(segment, start, end, word.text_start, word.start_sample, word.end_sample)
            if self._held is not None and start < self._held.end_char:
                self._held = _merged(self._held, new)
            else:
                found += self.finish()
                self._held = new
        if spoken and not _is_rewritten(segment.text, spoken[-1]):
            found += self.finish()
        return found

    def _place(self, text: SegmentText, word: Word) -> tuple[int, int]:
        """Return the word's characters in the user's text, without the spaces that were rewritten with them."""
        start, end = text.source(word.text_start, word.text_end)
        written = self._text[start:end]
        bare = written.strip()
        start += len(written) - len(written.lstrip()) if bare else 0
        return start, start + len(bare or written)

    def finish(self) -> list[UserWord]:
        """Return what was held back, after the last segment."""
        held, self._held = self._held, None
        return [held] if held is not None else []


def _merged(first: UserWord, second: UserWord) -> UserWord:
    return replace(
        first,
        start_char=min(first.start_char, second.start_char),
        end_char=max(first.end_char, second.end_char),
        end_sample=second.end_sample,
    )


def _is_rewritten(text: SegmentText, word: Word) -> bool:
    """Return True where the end of a word is not the user's own: more words may stand for the same characters."""
    start, end = text.source(word.text_end - 1, word.text_end)
    return end - start > 1 or (word.text_end >= 2 and text.source(word.text_end - 2, word.text_end - 1) == (start, end))


def _all_of(segment: SpokenSegment) -> tuple[Word, ...]:
    last = segment.first_sample + segment.n_samples
    return (Word(0, len(segment.text.text), segment.first_sample, last),)
