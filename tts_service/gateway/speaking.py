"""POST /v1/audio/speech, from the raw body to the answer. Runs on the request's thread."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable, Iterator
from typing import get_args
from urllib.parse import quote

import msgspec
from flask import Request, Response

from tts_service.errors import ClientGone, Code, RequestFailed
from tts_service.gateway.access import key_name
from tts_service.gateway.admission import Admission
from tts_service.gateway.aliases import is_openai_voice
from tts_service.gateway.answer_encoder import encoder_of
from tts_service.gateway.body import SpeechBody, TextForm, read_body
from tts_service.gateway.budget import AudioBudget
from tts_service.gateway.client import DispatcherClient
from tts_service.gateway.connection import Connection
from tts_service.gateway.delivery import StreamedBody, WholeAnswer, pcm_of
from tts_service.gateway.encoders import Encoder
from tts_service.gateway.encoding_cost import EncodingCost
from tts_service.gateway.finishing import Finishing
from tts_service.gateway.pcm import Int16
from tts_service.gateway.raw_body import read_raw
from tts_service.gateway.request_log import KEY_CLIENT, log_request
from tts_service.gateway.result_cache import ResultCache
from tts_service.gateway.speech import Speech
from tts_service.gateway.spoken_text import SpokenText
from tts_service.gateway.tally import Tally
from tts_service.gateway.utterance import ANY_MODEL, Utterance, resolve
from tts_service.protocol import PoolInfo
from tts_service.settings import GatewaySettings
from tts_service.text.segment import SegmentText

# nginx's name for "the client closed the connection"; only the log sees it.
CLIENT_GONE_STATUS = 499
EVENTS_TYPE = "text/event-stream"
# Printable ASCII but for the percent sign: what a voice's id may have in a header as it is.
PLAIN = " !\"#$&'()*+,/:;<=>?@[\\]^`{|}~"


class Speaker:
    """Answers speech requests; shared by all request threads of the process."""

    def __init__(
        self,
        settings: GatewaySettings,
        client: DispatcherClient,
        admission: Admission,
        cache: ResultCache | None = None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self.settings = settings
        self.client = client
        self.admission = admission
        self.cache = cache
        self._stopping = stopping
        self._numbers = itertools.count(1)
        self._token = secrets.token_hex(4)
        self.budget = AudioBudget(settings.audio_budget_mib << 20)
        self.encoding_cost = EncodingCost()
        self.spoken_text = SpokenText(settings)

    def answer(self, request: Request, request_id: str, tally: Tally, utterance: Utterance | None = None) -> Response:
        """Return the answer with its audio. RequestFailed where there is none.

        Without an utterance, what is to be spoken is read from the request's body.
        """
        # First of all: a body can take its time to come, and must not take a thread beyond the limit meanwhile.
        self.admission.enter()
        try:
            turn = self._begin(request, request_id, tally, utterance)
        except BaseException:
            self.admission.leave()
            raise
        try:
            return self._streamed(turn) if turn.streams else self._whole(turn)
        except ClientGone:
            turn.finish("client_gone")
            return Response(status=CLIENT_GONE_STATUS)
        except RequestFailed as error:
            turn.finish(error.code)
            raise
        except Exception:
            turn.finish(Code.INTERNAL)
            raise

    def _begin(self, request: Request, request_id: str, tally: Tally, utterance: Utterance | None) -> _Turn:
        utterance = utterance or self.read(request)
        texts = self.spoken_text.segments(utterance)
        encoder = encoder_of(utterance, self.settings)
        connection = Connection(request.environ)
        connection.limit_sends(self.settings.send_timeout_s)
        keep_words = encoder.words is not None
        speech = self.speech(utterance, texts, request_id, connection.check_open, keep_words=keep_words)
        streams = utterance.streamed and connection.can_show_failure
        return _Turn(speech, utterance, encoder, request_id, self.admission, tally, self.encoding_cost, streams)

    @property
    def is_leaving(self) -> bool:
        """Return True where connections that stay open should end: this process stops, or the service is drained."""
        catalogue = self.client.catalogue
        return self._stopping() or (catalogue is not None and catalogue.closed)

    def speech(
        self,
        utterance: Utterance,
        texts: Iterator[SegmentText],
        request_id: str,
        check_client: Callable[[], None],
        *,
        keep_words: bool = False,
    ) -> Speech:
        """Return the speech of an utterance with these segments."""
        # Clients choose their request ids, and may choose the same one twice, in two processes at the same time.
        channel = self.client.open(f"{request_id}.{self._token}.{next(self._numbers)}")
        # What the pools say now decides: nobody hears a voice that has been replaced, or a service that is closed.
        cache = self.cache if self.client.serves(utterance.pool) else None
        return Speech(
            utterance,
            texts,
            channel,
            self.settings,
            self.budget,
            check_client,
            cache,
            keep_words=keep_words,
            encoding_s_per_audio_s=self.encoding_cost.of(utterance),
        )

    def read(self, request: Request) -> Utterance:
        """Return what a request asks for. RequestFailed where that cannot be."""
        if request.mimetype not in ("", "application/json") and not request.mimetype.endswith("+json"):
            message = f"Content-Type is {request.mimetype}: expected application/json"
            raise RequestFailed(Code.UNSUPPORTED_MEDIA_TYPE, message)
        body = read_body(read_raw(request, self.settings.max_body_bytes), self.settings.max_text_chars)
        return self.resolve(as_accepted(body, request), client_of(request))

    def resolve(self, body: SpeechBody, client: str) -> Utterance:
        """Return what a request of this client's asks for; RequestFailed where there is no such thing, or not yet."""
        if self.client.refused:
            raise RequestFailed(Code.VERSION_MISMATCH, self.client.refused, retry_after_s=5.0)
        pools = self.client.known_pools()
        if not pools:
            raise RequestFailed(Code.NOT_READY, "the workers are not ready yet", retry_after_s=2.0)
        self._check_default_pool(body, pools)
        settings = self.settings
        return resolve(body, pools, settings.sample_rate_hz, client, settings.voice_aliases)

    def _check_default_pool(self, body: SpeechBody, pools: list[PoolInfo]) -> None:
        """Refuse a request that leaves the choice to us while the pool that it is for has not been loaded yet.

        Whichever pool is up first would speak otherwise, with another voice than a moment later.
        """
        default = self.client.catalogue.default_pool if self.client.catalogue else ""
        any_voice = body.voice_id is None or is_openai_voice(body.voice_id, pools)
        leaves_it_to_us = any_voice and (not body.model or body.model in ANY_MODEL)
        if leaves_it_to_us and default and default not in {pool.name for pool in pools}:
            raise RequestFailed(Code.NOT_READY, f"pool {default!r} is not ready yet", retry_after_s=2.0)

    def _streamed(self, turn: _Turn) -> Response:
        settings = self.settings
        body = StreamedBody(turn.pcm(), turn.encoder, turn.finish, settings.first_chunk_s, settings.chunk_s)
        body.begin()
        answer = Response(body, content_type=turn.encoder.content_type)
        # nginx would collect the stream otherwise.
        answer.headers["X-Accel-Buffering"] = "no"
        return turn.mark(answer)

    def _whole(self, turn: _Turn) -> Response:
        answer = WholeAnswer(self.budget)
        try:
            data = answer.collect(turn.pcm(), turn.encoder, self.settings.max_audio_s)
        except BaseException:
            answer.release()
            raise
        turn.finish("complete")
        response = turn.mark(Response(data, content_type=turn.encoder.content_type))
        # Until then its reader may take it slowly.
        response.call_on_close(answer.release)
        return response


def as_accepted(body: SpeechBody, request: Request) -> SpeechBody:
    """Return the body with the form of answer that the request's Accept asks for, where it names none itself."""
    is_audio = body.response_format not in get_args(TextForm)
    if is_audio and body.stream_format is None and request.accept_mimetypes.best == EVENTS_TYPE:
        return msgspec.structs.replace(body, stream_format="sse")
    return body


def client_of(request: Request) -> str:
    """Return whose share of a pool a request counts against: its key, its peer, or whom a proxy here names."""
    if name := key_name():
        return KEY_CLIENT + name
    peer = request.remote_addr or ""
    forwarded = request.headers.get("X-Forwarded-For", "")
    return forwarded.rpartition(",")[2].strip() or peer if peer in ("127.0.0.1", "::1") else peer


class _Turn:
    """One request between its admission and its end."""

    def __init__(
        self,
        speech: Speech,
        utterance: Utterance,
        encoder: Encoder,
        request_id: str,
        admission: Admission,
        tally: Tally,
        encoding_cost: EncodingCost,
        streams: bool,
    ) -> None:
        self.speech = speech
        self.streams = streams
        self.encoder = encoder
        self._utterance = utterance
        self._request_id = request_id
        self._admission = admission
        self._tally = tally
        self._encoding_cost = encoding_cost
        self._finishing: Finishing | None = None

    def pcm(self) -> Iterator[Int16]:
        self._finishing = finishing = Finishing.of(self._utterance)
        if self.encoder.words is not None:
            self.encoder.words.follow(self.speech.words, lambda: finishing.n_dropped)
        return pcm_of(self.speech, finishing)

    def mark(self, answer: Response) -> Response:
        """Put into the headers what the client cannot know otherwise."""
        account = self.speech.account
        answer.headers["X-Voice"] = quote(self._utterance.voice, safe=PLAIN)
        answer.headers["X-Seed"] = str(self._utterance.seed)
        if self._utterance.ignored:
            answer.headers["X-Ignored"] = ", ".join(self._utterance.ignored)
        answer.headers["X-Sample-Rate"] = str(self._utterance.sample_rate_hz)
        if account.cached or account.not_cached:
            answer.headers["X-Cache"] = "miss" if not account.cached else "partial" if account.not_cached else "hit"
        timings = {"queue": account.queue_s, "first-audio": account.first_audio_s}
        if not self._utterance.streamed:
            timings |= {"synthesis": account.compute_s, "encoding": self.encoder.spent_s}
        answer.headers["Server-Timing"] = ", ".join(
            f"{name};dur={1000 * seconds:.1f}" for name, seconds in timings.items() if seconds is not None
        )
        return answer

    def finish(self, outcome: str) -> None:
        """Cancel what is still being made, give the place back, and write the request's line. Never the text."""
        self.speech.close()
        self.encoder.close()
        self._admission.leave()
        cpu_s = self.encoder.cpu_s + (self._finishing.cpu_s if self._finishing else 0.0)
        self._encoding_cost.learn(self._utterance, cpu_s, self.speech.account.audio_s)
        self._tally.spoken(self._utterance, self.speech.account, self.encoder, outcome)
        log_request(self._request_id, outcome, self._utterance, self.speech.account)
