"""POST /v1/audio/text: what would be said, and which rule made it so, as JSON. Runs on the request's thread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from flask import Response

from tts_service.gateway.spoken_text import SpokenText
from tts_service.gateway.utterance import Utterance
from tts_service.text.segment import SegmentText


def answer_text(spoken_text: SpokenText, utterance: Utterance) -> Response:
    """Return the segments of a text as they are made: a book's take a while. RequestFailed as for its speech."""
    found = spoken_text.segments(utterance)
    head = {"voice": utterance.voice, "language": spoken_text.reading(utterance).language}
    return Response(_json(head, found), content_type="application/json")


def _json(head: dict[str, str], found: Iterator[SegmentText]) -> Iterator[bytes]:
    yield msgspec.json.encode(head)[:-1] + b', "segments": ['
    for number, segment in enumerate(found):
        yield (b",\n " if number else b"\n ") + msgspec.json.encode(describe(segment))
    yield b"]}\n"


def describe(segment: SegmentText) -> dict[str, Any]:
    """Return a segment for people to look at."""
    return {
        "text": segment.text,
        "start": segment.start,
        "end": segment.end,
        "pause_before": segment.pause_before_s,
        "pause_after": segment.pause_after_s,
        "speed": segment.speed,
        "edits": [
            {"rule": edit.rule, "start": edit.start, "end": edit.end, "before": edit.before, "after": edit.after}
            for edit in segment.edits
        ],
    }
