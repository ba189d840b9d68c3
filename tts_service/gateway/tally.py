"""What becomes of one HTTP request, for its report to the metrics. Used by the request's thread."""

from __future__ import annotations

import time

from flask import Response

from tts_service.gateway.encoders import Encoder
from tts_service.gateway.speech import Account
from tts_service.gateway.utterance import Utterance
from tts_service.protocol import RequestReport


class Tally:
    """Starts with the request, is filled in on the way, and is reported when the answer is over."""

    def __init__(self, route: str) -> None:
        self.outcome = ""
        """complete, client_gone, or an error's code; empty until it is known."""
        self.route = route
        self._started_s = time.monotonic()
        self._utterance: Utterance | None = None
        self._account: Account | None = None
        self._encoder: Encoder | None = None

    def spoken(self, utterance: Utterance, account: Account, encoder: Encoder, outcome: str) -> None:
        """Note the end of a speech request."""
        self._utterance, self._account, self._encoder, self.outcome = utterance, account, encoder, outcome

    def report(self, answer: Response) -> RequestReport:
        """Return the report; call it once the answer is over."""
        outcome = self.outcome or ("complete" if answer.status_code < 400 else str(answer.status_code))
        duration_s = time.monotonic() - self._started_s
        if self._utterance is None or self._account is None or self._encoder is None:
            return RequestReport(self.route, outcome, duration_s, answer.content_length or 0)
        return RequestReport(
            route=self.route,
            outcome=outcome,
            duration_s=duration_s,
            n_bytes=self._encoder.n_bytes,
            pool=self._utterance.pool.name,
            response_format=self._utterance.file_format,
            streamed=self._utterance.streamed,
            characters=len(self._utterance.text),
            audio_s=self._account.audio_s,
            first_audio_s=self._account.first_audio_s,
            encoder_s=self._encoder.spent_s,
            retries=self._account.attempts + self._account.cached - self._account.segments,
            continuations=self._account.continuations,
            underruns=self._account.underruns,
            dry_s=self._account.dry_s,
            cache_hits=self._account.cached,
            cache_misses=self._account.not_cached,
            cache_evictions=self._account.evictions,
        )
