"""A small and safe part of SSML in blocks, by the standard library's expat. Pure and lazy.

Document types, and with them entities of one's own, are refused; so is every element that would be passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.parsers import expat

from tts_service.allowed import shorten
from tts_service.errors import Code, RequestFailed
from tts_service.text.languages import Language
from tts_service.text.passage import Passage
from tts_service.text.reading import MAX_PAUSE_S, WINDOW
from tts_service.text.say_as import INTERPRETATIONS, say_as
from tts_service.text.segment import Block, Boundary

_FEED_BYTES = 4096
_MAX_DEPTH = 50
_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "speak": ("version", "xmlns", "xml:lang", "xmlns:xsi", "xsi:schemaLocation", "xml:base"),
    "p": ("xml:lang",),
    "s": ("xml:lang",),
    "break": ("time", "strength"),
    "sub": ("alias",),
    "say-as": ("interpret-as", "format", "detail"),
    "phoneme": ("alphabet", "ph"),
    "prosody": ("rate",),
}
_ENDS = {"p": Boundary.PARAGRAPH, "s": Boundary.SENTENCE}
_STRENGTHS_S = {"none": 0.0, "x-weak": 0.1, "weak": 0.2, "medium": 0.4, "strong": 0.8, "x-strong": 1.2}
_RATES = {"x-slow": 0.5, "slow": 0.75, "medium": 1.0, "default": 1.0, "fast": 1.25, "x-fast": 1.5}
_TIME = re.compile(r"\+?([0-9]{1,9}(?:\.[0-9]{1,9})?)(ms|s)")
_RATE = re.compile(r"([+-]?)([0-9]{1,6}(?:\.[0-9]{1,9})?)(%?)")
_SPACE = re.compile(r"\s+")


@dataclass
class _Open:
    """An element whose end has not come yet."""

    name: str
    attributes: dict[str, str]
    speed: float
    start: int
    """Of its content, in the user's text."""


def check_ssml(text: str, language: Language, speeds: tuple[float, float]) -> None:
    """Raise RequestFailed where read_ssml would, or where a rate is not between these two times the request's."""
    for block in read_ssml(text, language, raw_phonemes=False):
        if not speeds[0] <= block.speed <= speeds[1]:
            message = (
                f"prosody rate {block.speed:g}: the voice speaks at {speeds[0]:g} to {speeds[1]:g} times this speed"
            )
            raise RequestFailed(Code.INVALID_REQUEST, message, param="input")


def read_ssml(text: str, language: Language, *, raw_phonemes: bool) -> Iterator[Block]:
    """Yield the blocks of a document. RequestFailed says what is wrong with it, and where."""
    reader = _Reader(text, language, raw_phonemes=raw_phonemes)
    data = text.encode("utf-8", "replace")
    for at in range(0, max(len(data), 1), _FEED_BYTES):
        reader.feed(data[at : at + _FEED_BYTES], last=at + _FEED_BYTES >= len(data))
        yield from reader.taken()


class _Reader:
    def __init__(self, text: str, language: Language, *, raw_phonemes: bool) -> None:
        self._text = text
        self._language = language
        self._raw_phonemes = raw_phonemes
        self._blocks: list[Block] = []
        self._parts: list[Passage] = []
        self._open: list[_Open] = []
        self._byte = self._char = 0
        self._parser = parser = expat.ParserCreate("utf-8")
        parser.buffer_text = False
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._data
        parser.StartDoctypeDeclHandler = self._doctype

    def feed(self, data: bytes, *, last: bool) -> None:
        try:
            self._parser.Parse(data, last)
        except expat.ExpatError as error:
            why = expat.errors.messages[error.code]
            raise _wrong(f"is no SSML: {why} at line {error.lineno}, column {error.offset + 1}") from None

    def taken(self) -> list[Block]:
        blocks, self._blocks = self._blocks, []
        return blocks

    def _place(self) -> int:
        """Return the character of the user's text at which the parser is."""
        index = max(self._parser.CurrentByteIndex, self._byte)
        while self._byte < index:
            self._byte += len(self._text[self._char].encode("utf-8", "replace"))
            self._char += 1
        return self._char

    def _doctype(self, *_: object) -> None:
        raise _wrong("has a document type: expected <speak> without one")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if not self._open and name != "speak":
            raise _wrong(f"is no SSML: it begins with <{shorten(name)}>, expected <speak>")
        if len(self._open) >= _MAX_DEPTH:
            raise _wrong(f"has elements more than {_MAX_DEPTH} deep")
        self._check(name, attributes)
        start = self._text.find(">", self._place()) + 1
        speed = self._open[-1].speed if self._open else 1.0
        if name in _ENDS:
            self._flush(_ENDS[name])
        elif name == "prosody":
            self._flush(Boundary.CLAUSE)
            speed *= _rate(attributes.get("rate", "default"))
        elif name == "break":
            self._flush(Boundary.BREAK, _pause_s(attributes))
        self._open.append(_Open(name, attributes, speed, start))
        if name in ("sub", "say-as", "phoneme"):
            self._parts.append(_MARK)

    def _check(self, name: str, attributes: dict[str, str]) -> None:
        if name not in _ATTRIBUTES:
            raise _wrong(f"has the element <{shorten(name)}>: expected one of {', '.join(_ATTRIBUTES)}")
        unknown = [attribute for attribute in attributes if attribute not in _ATTRIBUTES[name]]
        if unknown:
            allowed = ", ".join(_ATTRIBUTES[name])
            raise _wrong(f"has {shorten(unknown[0])} in <{name}>: expected one of {allowed}")
        inner = self._open[-1].name if self._open else ""
        if inner in ("sub", "say-as", "phoneme", "break"):
            raise _wrong(f"has <{name}> within <{inner}>: expected text only")
        for needed in {"sub": ("alias",), "say-as": ("interpret-as",), "phoneme": ("ph",)}.get(name, ()):
            if not attributes.get(needed, "").strip():
                raise _wrong(f"has <{name}> without {needed}")
        if name == "say-as" and attributes["interpret-as"] not in INTERPRETATIONS:
            found = shorten(attributes["interpret-as"])
            raise _wrong(f"has interpret-as = {found}: expected one of {', '.join(INTERPRETATIONS)}")
        if name == "phoneme" and attributes.get("alphabet", "ipa") != "ipa":
            raise _wrong(f"has alphabet = {shorten(attributes['alphabet'])}: expected ipa")

    def _end(self, name: str) -> None:
        ended = self._open.pop()
        if name in ("sub", "say-as", "phoneme"):
            at = max(n for n, part in enumerate(self._parts) if part is _MARK)
            content = Passage.join(self._parts[at + 1 :]) if self._parts[at + 1 :] else Passage.of("", ended.start)
            self._parts[at:] = [self._spoken(ended, content)]
        elif name in _ENDS:
            self._flush(_ENDS[name])
        elif name == "prosody":
            self._flush(Boundary.CLAUSE, speed=ended.speed)
        elif name == "speak":
            self._flush(Boundary.PARAGRAPH)

    def _spoken(self, element: _Open, content: Passage) -> Passage:
        if element.name == "say-as":
            return say_as(content, element.attributes, self._language)
        start, end = content.source(0, len(content)) if len(content) else (element.start, element.start)
        if element.name == "sub":
            return Passage.spoken(element.attributes["alias"].strip(), start, end)
        if not self._raw_phonemes:
            # By SSML, what is to be said by those who cannot say the phonemes.
            return content
        return Passage.spoken(f"[[{element.attributes['ph'].strip()}]]", start, end)

    def _data(self, data: str) -> None:
        start = self._place()
        source = self._text[start : start + len(data)]
        if source == data:
            self._parts.append(Passage.of(data, start))
        else:
            # An entity, or a line end of Windows.
            end = self._text.find(";", start) + 1 if source[:1] == "&" else start + 2
            self._parts.append(Passage(data, [start] * len(data), [end] * len(data), bytes(len(data))))
        if sum(map(len, self._parts)) > WINDOW and _MARK not in self._parts:
            self._flush_window()

    def _flush_window(self) -> None:
        passage = Passage.join(self._parts)
        cut = passage.text.rfind(" ") + 1 or len(passage)
        self._parts = [passage.cut(cut, len(passage))]
        self._blocks.append(Block(_collapsed(passage.cut(0, cut)), Boundary.NONE, speed=self._open[-1].speed))

    def _flush(self, boundary: Boundary, pause_s: float = 0.0, *, speed: float | None = None) -> None:
        passage = Passage.join(self._parts) if self._parts else Passage.of("", self._place())
        self._parts = []
        if speed is None:
            speed = self._open[-1].speed if self._open else 1.0
        self._blocks.append(Block(_collapsed(passage), boundary, pause_s, speed))


_MARK = Passage.of("")


def _collapsed(passage: Passage) -> Passage:
    return passage.sub("unicode", _SPACE, " ", final=False)


def _pause_s(attributes: dict[str, str]) -> float:
    if "time" not in attributes:
        strength = attributes.get("strength", "medium")
        if strength not in _STRENGTHS_S:
            raise _wrong(f"has strength = {shorten(strength)}: expected one of {', '.join(_STRENGTHS_S)}")
        return _STRENGTHS_S[strength]
    written = attributes["time"]
    match = _TIME.fullmatch(written.strip())
    seconds = float(match[1]) * (0.001 if match[2] == "ms" else 1.0) if match else -1.0
    if not 0 <= seconds <= MAX_PAUSE_S:
        raise _wrong(f"has time = {shorten(written)}: expected 0s to {MAX_PAUSE_S:g}s, in s or ms")
    return seconds


def _rate(written: str) -> float:
    if written in _RATES:
        return _RATES[written]
    match = _RATE.fullmatch(written.strip())
    rate = -1.0
    if match:
        number = float(match[2]) / (100 if match[3] else 1)
        rate = {"+": 1 + number, "-": 1 - number}.get(match[1], number)
    if not 0.1 <= rate <= 10:
        names = ", ".join(_RATES)
        raise _wrong(f"has rate = {shorten(written)}: expected a percentage from 10% to 1000%, or one of {names}")
    return rate


def _wrong(what: str) -> RequestFailed:
    return RequestFailed(Code.INVALID_REQUEST, f"input {what}", param="input")
