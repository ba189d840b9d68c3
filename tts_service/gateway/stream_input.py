"""One WebSocket client that sends text in pieces and hears it, in one context or several. On its request thread.

One loop does everything: hear messages, go on with each context a little, send its audio. While a speech waits for its
workers, it has the loop look for messages, so that an interruption is noticed within a tenth of a second.
"""

from __future__ import annotations

import logging
import time

from tts_service.errors import ClientGone, Code, RequestFailed
from tts_service.gateway.speaking import Speaker
from tts_service.gateway.stream_context import Interrupted, StreamContext
from tts_service.gateway.stream_messages import (
    InputMessage,
    StreamQuery,
    audio_message,
    body_of,
    error_message,
    final_message,
    read_message,
)
from tts_service.gateway.websocket import (
    GOING_AWAY,
    INTERNAL_ERROR,
    NORMAL,
    POLICY,
    TOO_BIG,
    TRY_LATER,
    Refused,
    WebSocket,
)

logger = logging.getLogger(__name__)

# As ElevenLabs has it.
MAX_CONTEXTS = 5
IDLE_LOOK_S = 1.0
_OUTCOMES = {GOING_AWAY: Code.DRAINING, TOO_BIG: Code.BODY_TOO_LARGE}


class StreamInput:
    """Speaks for one connection until it ends. `run` raises nothing and closes the WebSocket."""

    def __init__(
        self,
        websocket: WebSocket,
        speaker: Speaker,
        query: StreamQuery,
        voice: str,
        client: str,
        request_id: str,
        route: str,
        *,
        several: bool,
    ) -> None:
        self.outcome = "complete"
        self._websocket = websocket
        self._speaker = speaker
        self._query = query
        self._voice = voice
        self._client = client
        self._request_id = request_id
        self._route = route
        self._several = several
        self._contexts: dict[str, StreamContext] = {}
        self._leaving = False
        self._active_s = time.monotonic()

    def run(self) -> None:
        """Serve the connection."""
        code, reason = NORMAL, ""
        try:
            self._serve()
        except ClientGone:
            # With nothing left to hear that is how a connection of several contexts ends.
            self.outcome = "client_gone" if self._contexts else "complete"
        except Refused as error:
            self.outcome, code, reason = _OUTCOMES.get(error.code, Code.INVALID_REQUEST), error.code, error.message
            self._tell(error_message(error.message, self.outcome, code, None))
        except RequestFailed as error:
            self.outcome, code, reason = error.code, _close_code(error), error.message
            self._tell(error_message(error.message, error.code, code, None, error.param))
        except Exception:
            logger.exception("request %s: unexpected error", self._request_id)
            self.outcome, code, reason = Code.INTERNAL, INTERNAL_ERROR, "an unexpected error"
            self._tell(error_message(reason, Code.INTERNAL, code, None))
        finally:
            # First of all: what nobody will hear must not take slots while we say goodbye.
            for context in self._contexts.values():
                context.finish(self.outcome)
            logger.info("request id=%s outcome=%s route=%s", self._request_id, self.outcome, self._route)
            self._websocket.close(code, reason)

    def _serve(self) -> None:
        while not (self._leaving and not self._contexts):
            working = [context for context in self._contexts.values() if context.has_work]
            self._hear(0.0 if working else IDLE_LOOK_S)
            for context in working:
                self._advance(context)
            if not working and self._speaker.is_leaving:
                raise Refused(GOING_AWAY, "this server is being stopped; connect again")
            if working:
                self._active_s = time.monotonic()
            elif time.monotonic() - self._active_s > self._query.inactivity_timeout:
                message = f"nothing was sent for inactivity_timeout = {self._query.inactivity_timeout:g} s"
                raise RequestFailed(Code.TIMED_OUT, message, param="inactivity_timeout")

    def _advance(self, context: StreamContext) -> None:
        try:
            data, last = context.advance()
        except Interrupted:
            self._end(context, "interrupted")
        except RequestFailed as error:
            self._failed(context, error)
        else:
            if data:
                self._websocket.send(audio_message(data, context.name))
            if last:
                self._end(context, "complete")

    def _end(self, context: StreamContext, outcome: str) -> None:
        self._contexts.pop(context.name or "", None)
        context.finish(outcome)
        self._websocket.send(final_message(context.name))
        if not self._several:
            self._leaving = True

    def _failed(self, context: StreamContext, error: RequestFailed) -> None:
        """Tell of a context's failure. Others on the connection go on."""
        self._contexts.pop(context.name or "", None)
        context.finish(error.code)
        if not self._several:
            raise error
        self._websocket.send(error_message(error.message, error.code, _close_code(error), context.name, error.param))

    def _tell(self, message: str) -> None:
        try:
            self._websocket.send(message)
        except ClientGone:
            self.outcome = "client_gone"

    # Messages

    def _look(self) -> None:
        self._hear(0.0)

    def _hear(self, timeout_s: float) -> None:
        for text in self._websocket.receive(timeout_s):
            self._active_s = time.monotonic()
            message = read_message(text)
            name = (message.context_id or "default") if self._several else ""
            if self._leaving:
                return
            try:
                self._take(name, message)
            except RequestFailed as error:
                if not self._several:
                    raise
                if (context := self._contexts.get(name)) is not None:
                    context.refusal = error
                else:
                    self._websocket.send(
                        error_message(error.message, error.code, _close_code(error), name, error.param)
                    )

    def _take(self, name: str, message: InputMessage) -> None:
        if message.close_socket and self._several:
            self._leaving = True
            for context in self._contexts.values():
                context.feed.end()
        elif message.close_context and self._several:
            if (found := self._contexts.get(name)) is not None:
                self._close(found)
        elif message.text == "" and not self._several:
            self._context(name, message).feed.end()
        elif message.text or message.flush:
            context = self._context(name, message)
            if context.feed.is_ended:
                raise RequestFailed(
                    Code.INVALID_REQUEST, f"context_id = {name}: this context is closed", param="context_id"
                )
            if message.text:
                context.feed.push(message.text, eager=self._query.auto_mode)
            if message.flush:
                context.feed.flush()

    def _close(self, context: StreamContext) -> None:
        """End a context: at its end, where all was flushed, as clients do after a turn; else it is an interruption."""
        if context.feed.is_ended or not context.feed.was_flushed:
            context.interrupted = True
        context.feed.end()

    def _context(self, name: str, message: InputMessage) -> StreamContext:
        if (found := self._contexts.get(name)) is not None:
            return found
        if len(self._contexts) >= MAX_CONTEXTS:
            text = f"context_id = {name}: {MAX_CONTEXTS} contexts are open, which is the limit; close one"
            raise RequestFailed(Code.TOO_MANY_REQUESTS, text, param="context_id")
        speed = message.voice_settings.speed if message.voice_settings else None
        utterance = self._speaker.resolve(body_of(self._query, self._voice, speed), self._client)
        context = StreamContext(
            name if self._several else None,
            utterance,
            self._speaker,
            self._query.output_format,
            self._request_id,
            # Told apart from the connection in the metrics.
            f"{self._route} context",
            self._look,
        )
        self._contexts[name] = context
        return context


def _close_code(error: RequestFailed) -> int:
    if error.code.status == 503:
        return TRY_LATER
    return POLICY if error.code.status < 500 or error.code is Code.TIMED_OUT else INTERNAL_ERROR
