"""POST /v1/audio/text: what would be said, and which rule made it so, as JSON. Runs on the request's thread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from flask import Request, Response

from tts_service.gateway.connection import Connection
from tts_service.gateway.speaking import Speaker
from tts_service.text.segment import SegmentText


def answer_text(speaker: Speaker, request: Request) -> Response:
    """Return the segments of a text as they are made: a book's take a while. RequestFailed as for its speech.

    It takes one of the places for speech requests, and its reader as much time as theirs: a thread is a thread.
    """
    speaker.admission.enter()
    try:
        utterance = speaker.read(request)
        found = speaker.spoken_text.segments(utterance)
        Connection(request.environ).limit_sends(speaker.settings.send_timeout_s)
    except BaseException:
        speaker.admission.leave()
        raise
    head = {"voice": utterance.voice, "language": speaker.spoken_text.reading(utterance).language}
    answer = Response(_json(head, found), content_type="application/json")
    answer.call_on_close(speaker.admission.leave)
    return answer


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
