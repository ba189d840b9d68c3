"""One text that comes in pieces over a WebSocket, and its audio. Used by the connection's request thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from flask import Response

from tts_service.errors import RequestFailed
from tts_service.gateway.encoders import Encoder, make_encoder
from tts_service.gateway.finishing import Finishing
from tts_service.gateway.pcm import Float32, Int16
from tts_service.gateway.request_log import log_request
from tts_service.gateway.speaking import Speaker
from tts_service.gateway.speech import Speech
from tts_service.gateway.stream_messages import read_format
from tts_service.gateway.tally import Tally
from tts_service.gateway.text_feed import TextFeed
from tts_service.gateway.utterance import Utterance


class Interrupted(Exception):
    """The client does not want the rest of this context."""


class StreamContext:
    """Text in by `feed`, coded audio out by `advance`. `finish` at the end, whatever happened."""

    def __init__(
        self,
        name: str | None,
        utterance: Utterance,
        speaker: Speaker,
        output_format: str,
        request_id: str,
        route: str,
        look: Callable[[], None],
    ) -> None:
        self.name = name
        """Its id, where there can be several."""
        self.interrupted = False
        self.refusal: RequestFailed | None = None
        """What is wrong with a text that came for it."""
        self.feed = TextFeed(
            speaker.spoken_text.reading(utterance),
            utterance.pool.engine.scripts,
            utterance.voice,
            speaker.settings.max_text_chars,
        )
        self._utterance = utterance
        self._speaker = speaker
        self._request_id = request_id
        self._tally = Tally(route)
        self._look = look
        settings, kbps = speaker.settings, read_format(output_format).kbps
        self._encoder: Encoder = make_encoder(
            utterance.response_format,
            utterance.sample_rate_hz,
            kbps or settings.mp3_kbps,
            kbps or settings.opus_kbps,
            kbps or settings.aac_kbps,
        )
        self._begun = False
        self._pcm = Finishing.of(utterance)
        self._held: list[Int16] = []
        self._wanted_s = speaker.settings.first_chunk_s
        self._speech: Speech | None = None
        self._audio: Iterator[Float32] = iter(())

    @property
    def has_work(self) -> bool:
        """Return True where `advance` would get somewhere."""
        if self.feed.has_ready or self.feed.is_ended or self.interrupted or self.refusal:
            return True
        return self._speech is not None and not self._speech.is_idle

    def advance(self) -> tuple[bytes, bool]:
        """Return coded audio, b"" where there is none just now, and whether it was the last.

        Waits a tenth of a second at most. RequestFailed, ClientGone or Interrupted ends the context.
        """
        self._check_wanted()
        if self._speech is None:
            if not self.feed.has_ready:
                return b"", self.feed.is_ended
            self._begin()
        assert self._speech is not None
        samples = next(self._audio, None)
        if samples is None:
            self._held.append(self._pcm.finish())
            return self._coded() + self._encoder.end(), True
        if len(samples):
            self._held.append(self._pcm.push(samples))
            n_wanted = self._wanted_s * self._utterance.sample_rate_hz
            return (self._coded() if sum(map(len, self._held)) >= n_wanted else b""), False
        # All that was said has been spoken: the listener shall have it, though it may be short.
        return (self._coded() if self._speech.is_idle else b""), False

    def finish(self, outcome: str) -> None:
        """Stop what is still being made, and write the context's line. May be called twice."""
        speech, self._speech = self._speech, None
        self._encoder.close()
        if speech is None:
            return
        speech.close()
        utterance = replace(self._utterance, text=self.feed.text)
        self._speaker.encoding_cost.learn(utterance, self._pcm.cpu_s + self._encoder.cpu_s, speech.account.audio_s)
        self._tally.spoken(utterance, speech.account, self._encoder, outcome)
        self._speaker.client.report(self._tally.report(Response()))
        log_request(self._request_id, outcome, utterance, speech.account)

    def _begin(self) -> None:
        self._speech = self._speaker.speech(self._utterance, iter(self.feed), self._request_id, self._check)
        self._speech.in_turns = True
        self._audio = self._speech.audio()

    def _check(self) -> None:
        """Called while the speech waits: hear what the client has to say."""
        self._look()
        self._check_wanted()

    def _check_wanted(self) -> None:
        if self.interrupted:
            raise Interrupted
        if self.refusal:
            raise self.refusal

    def _coded(self) -> bytes:
        held, self._held = self._held, []
        if not held:
            return b""
        self._wanted_s = self._speaker.settings.chunk_s
        head = b"" if self._begun else self._encoder.begin(None)
        self._begun = True
        return head + self._encoder.encode(np.concatenate(held))
