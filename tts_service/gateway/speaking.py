"""POST /v1/audio/speech, from the raw body to the answer. Runs on the request's thread."""

from __future__ import annotations

import itertools
import logging
import secrets
import time
from collections.abc import Iterator

from flask import Request, Response

from tts_service.errors import ClientGone, Code, RequestFailed
from tts_service.gateway.admission import Admission
from tts_service.gateway.body import read_body
from tts_service.gateway.client import DispatcherClient
from tts_service.gateway.connection import Connection
from tts_service.gateway.delivery import StreamedBody, pcm_of, whole
from tts_service.gateway.encoders import Encoder, make_encoder
from tts_service.gateway.pcm import PcmStream
from tts_service.gateway.segments import check_scripts, segments
from tts_service.gateway.speech import Speech
from tts_service.gateway.utterance import Utterance, resolve
from tts_service.settings import GatewaySettings

logger = logging.getLogger(__name__)

# nginx's name for "the client closed the connection"; only the log sees it.
CLIENT_GONE_STATUS = 499


class Speaker:
    """Answers speech requests; shared by all request threads of the process."""

    def __init__(self, settings: GatewaySettings, client: DispatcherClient) -> None:
        self.settings = settings
        self.client = client
        self.admission = Admission(settings.max_requests)

    def answer(self, request: Request, request_id: str) -> Response:
        """Return the answer with its audio. RequestFailed where there is none."""
        utterance = self._read(request)
        texts = self._texts(utterance)
        encoder = make_encoder(utterance.response_format, utterance.sample_rate_hz, self.settings.mp3_kbps)
        connection = Connection(request.environ)
        connection.limit_sends(self.settings.send_timeout_s)
        self.admission.enter()
        # Clients choose their request ids, and may choose the same one twice.
        channel = self.client.open(f"{request_id}.{secrets.token_hex(4)}")
        speech = Speech(utterance, texts, channel, self.settings, connection.check_open)
        turn = _Turn(speech, utterance, request_id, self.admission)
        try:
            if utterance.streamed and connection.can_show_failure:
                return self._streamed(turn, encoder)
            return self._whole(turn, encoder)
        except ClientGone:
            turn.finish("client_gone")
            return Response(status=CLIENT_GONE_STATUS)
        except RequestFailed as error:
            turn.finish(error.code)
            raise
        except Exception:
            turn.finish(Code.INTERNAL)
            raise

    def _read(self, request: Request) -> Utterance:
        if request.mimetype not in ("", "application/json") and not request.mimetype.endswith("+json"):
            message = f"Content-Type is {request.mimetype}: expected application/json"
            raise RequestFailed(Code.UNSUPPORTED_MEDIA_TYPE, message)
        body = read_body(request.get_data(), self.settings.max_text_chars)
        if self.client.refused:
            raise RequestFailed(Code.VERSION_MISMATCH, self.client.refused, retry_after_s=5.0)
        if not self.client.pools:
            raise RequestFailed(Code.NOT_READY, "the workers are not ready yet", retry_after_s=2.0)
        utterance = resolve(body, list(self.client.pools.values()), self.settings.sample_rate_hz)
        check_scripts(utterance.text, utterance.pool.engine.scripts, utterance.voice)
        return utterance

    def _texts(self, utterance: Utterance) -> Iterator[str]:
        longest = min(self.settings.segment_chars, utterance.pool.engine.max_segment_chars)
        texts = segments(utterance.text, utterance.language, longest)
        first = next(texts, None)
        if first is None:
            message = "input has nothing to speak in it: expected letters, digits or spoken symbols"
            raise RequestFailed(Code.NOTHING_TO_SPEAK, message, param="input")
        return itertools.chain([first], texts)

    def _streamed(self, turn: _Turn, encoder: Encoder) -> Response:
        pcm = pcm_of(turn.speech, turn.pcm_stream)
        body = StreamedBody(pcm, encoder, turn.finish, self.settings.first_chunk_s, self.settings.chunk_s)
        body.begin()
        answer = Response(body, content_type=encoder.content_type, direct_passthrough=True)
        # nginx would collect the stream otherwise.
        answer.headers["X-Accel-Buffering"] = "no"
        return turn.mark(answer)

    def _whole(self, turn: _Turn, encoder: Encoder) -> Response:
        data = whole(pcm_of(turn.speech, turn.pcm_stream), encoder, self.settings.max_audio_s)
        turn.finish("complete")
        return turn.mark(Response(data, content_type=encoder.content_type))


class _Turn:
    """One request between its admission and its end."""

    def __init__(self, speech: Speech, utterance: Utterance, request_id: str, admission: Admission) -> None:
        self.speech = speech
        self.pcm_stream = PcmStream(utterance.pool.engine.sample_rate_hz, utterance.sample_rate_hz)
        self._utterance = utterance
        self._request_id = request_id
        self._admission = admission

    def mark(self, answer: Response) -> Response:
        answer.headers["X-Seed"] = str(self._utterance.seed)
        answer.headers["X-Sample-Rate"] = str(self._utterance.sample_rate_hz)
        return answer

    def finish(self, outcome: str) -> None:
        """Cancel what is still being made, give the place back, and write the request's line. Never the text."""
        self.speech.close()
        self._admission.leave()
        account, utterance = self.speech.account, self._utterance
        first_audio = "-" if account.first_audio_s is None else f"{account.first_audio_s:.3f}"
        logger.info(
            "request id=%s outcome=%s pool=%s voice=%s format=%s streamed=%s characters=%d segments=%d attempts=%d "
            "workers=%s queue_s=%.3f first_audio_s=%s total_s=%.3f audio_s=%.2f",
            self._request_id,
            outcome,
            utterance.pool.name,
            utterance.voice,
            utterance.response_format,
            utterance.streamed,
            len(utterance.text),
            account.segments,
            account.attempts,
            ",".join(map(str, sorted(account.workers))) or "-",
            account.queue_s,
            first_audio,
            time.monotonic() - account.started_s,
            account.audio_s,
        )
