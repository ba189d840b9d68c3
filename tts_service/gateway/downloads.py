"""GET and HEAD /v1/audio/speech: audio to link and to download, for caches, too. Runs on the request's thread."""

from __future__ import annotations

from flask import Request, Response
from werkzeug.exceptions import RequestedRangeNotSatisfiable
from werkzeug.http import parse_range_header

from tts_service.errors import Code
from tts_service.gateway.access import key_name
from tts_service.gateway.answer_encoder import encoder_of
from tts_service.gateway.answers import error_answer
from tts_service.gateway.encoders import suffix_of
from tts_service.gateway.filename import disposition
from tts_service.gateway.identity import entity_tag
from tts_service.gateway.query import read_flag, read_query
from tts_service.gateway.speaking import Speaker, as_accepted, client_of
from tts_service.gateway.tally import Tally
from tts_service.gateway.utterance import Utterance


class Downloads:
    """Answers speech requests that are links; shared by all request threads of the process."""

    def __init__(self, speaker: Speaker) -> None:
        self._speaker = speaker

    def answer(self, request: Request, request_id: str, tally: Tally) -> Response:
        """Return the answer with its audio, or without where the client has it or asks for the head only.

        Nothing is synthesized without need: the tag is that of the request, which fixes the bytes.
        """
        speaker = self._speaker
        body = read_query(request.args, speaker.settings.max_text_chars)
        download = read_flag(request.args, "download")
        utterance = speaker.resolve(as_accepted(body, request), client_of(request))
        texts = speaker.spoken_text.segments(utterance)
        tag = "" if utterance.random_seed else entity_tag(utterance, texts, speaker.settings)
        head = self._head(request, utterance, tag, download)
        if tag and request.if_none_match.contains_weak(tag):
            return _bare(head, 304)
        if request.method == "HEAD":
            encoder = encoder_of(utterance, speaker.settings)
            encoder.close()
            head["Content-Type"] = encoder.content_type
            return _bare(head, 200)
        answer = speaker.answer(request, request_id, tally, utterance)
        answer.headers.update(head)
        return answer if answer.is_streamed or not tag else _ranged(answer, request)

    def _head(self, request: Request, utterance: Utterance, tag: str, download: bool) -> dict[str, str]:
        suffix = suffix_of(utterance.file_format)
        head = {
            # An EventSource gets events.
            "Vary": "Accept",
            "Cache-Control": "no-store",
            "Content-Disposition": disposition(utterance.text, suffix, download=download),
        }
        if tag:
            # What one key may have, a cache must not give to those without, whichever header the key came in.
            shared = "private" if key_name() or "Authorization" in request.headers else "public"
            max_age_s = self._speaker.settings.cache_max_age_s
            head |= {
                "ETag": f'"{tag}"',
                "Cache-Control": f"{shared}, max-age={max_age_s}" if max_age_s else f"{shared}, no-cache",
                "Accept-Ranges": "none" if utterance.streamed else "bytes",
            }
        return head


def _bare(head: dict[str, str], status: int) -> Response:
    answer = Response(status=status, headers=head)
    # The length is not known without the audio, and is not 0.
    answer.automatically_set_content_length = False
    answer.headers.pop("Content-Length", None)
    if "Content-Type" not in head:
        answer.headers.pop("Content-Type", None)
    return answer


def _ranged(answer: Response, request: Request) -> Response:
    """Return the part of a whole answer that the request wants; all of it where it wants several parts or nonsense."""
    wanted = parse_range_header(request.headers.get("Range"))
    if wanted is None or wanted.units != "bytes" or len(wanted.ranges) != 1:
        return answer
    length = answer.content_length or 0
    try:
        answer.make_conditional(request.environ, accept_ranges=True, complete_length=length)
    except RequestedRangeNotSatisfiable:
        # Gives the audio's room back.
        answer.close()
        message = f"Range = {request.headers['Range'][:60]}: the audio has {length} bytes"
        refusal = error_answer(message, Code.RANGE_NOT_SATISFIABLE, 416)
        refusal.headers["Content-Range"] = f"bytes */{length}"
        return refusal
    return answer
