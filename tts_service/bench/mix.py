"""The connections of the threads drill: what each asks for, and how it is carried out."""

from __future__ import annotations

import enum
import http.client
import random
from dataclasses import dataclass
from typing import Any

from tts_service.bench.texts import PAIRS
from tts_service.http_client import Connection

REQUEST_TIMEOUT_S = 120.0
SPEECH = "/v1/audio/speech"


class Kind(enum.StrEnum):
    """What a connection is used for."""

    WAV = "wav"
    """A whole WAV."""
    PCM = "pcm"
    """Streamed PCM, read to its end."""
    ABORTED = "aborted"
    """Streamed PCM of a long text, closed after its first bytes."""
    INVALID = "invalid"
    """A request that no server can answer."""


@dataclass(frozen=True)
class Exchange:
    """One request on a connection of its own."""

    kind: Kind
    body: dict[str, Any]


# Every ten connections hold the same work, in another order, so that the first ten compare with the last.
_DECK = (*[Kind.WAV] * 4, *[Kind.PCM] * 3, *[Kind.ABORTED] * 2, Kind.INVALID)
# Each is wrong in a way that every server of this interface has to notice.
_INVALID: tuple[dict[str, Any], ...] = (
    {"response_format": "wav"},
    {"input": 7, "response_format": "wav"},
    {"input": PAIRS[0], "response_format": "no such format"},
)


def plan_mix(n: int, seed: int) -> list[Exchange]:
    """Return `n` exchanges, the same for the same seed. The first asks for speech: it is the drill's baseline."""
    draws = random.Random(seed)
    kinds: list[Kind] = []
    while len(kinds) < n:
        deck = draws.sample(_DECK, len(_DECK))
        if not kinds:
            deck.remove(Kind.WAV)
            deck.insert(0, Kind.WAV)
        kinds += deck
    return [Exchange(kind, _body(kind, n, draws)) for n, kind in enumerate(kinds[:n])]


def _body(kind: Kind, n: int, draws: random.Random) -> dict[str, Any]:
    if kind is Kind.INVALID:
        return draws.choice(_INVALID)
    if kind is Kind.WAV:
        return {"input": PAIRS[n % len(PAIRS)], "response_format": "wav", "stream": False}
    # Long, so that the end of the connection cuts off work, and not only the delivery of what is made already.
    text = " ".join(PAIRS) if kind is Kind.ABORTED else PAIRS[n % len(PAIRS)]
    return {"input": text, "response_format": "pcm", "stream": True}


def carry_out(url: str, exchange: Exchange) -> str:
    """Make the request on a fresh connection; return what was wrong with its answer, "" where nothing was.

    Unavailable where the server cannot be reached at all.
    """
    with Connection(url, REQUEST_TIMEOUT_S) as connection:
        answer = connection.post(SPEECH, exchange.body)
        try:
            if exchange.kind is Kind.INVALID:
                answer.body()
                return "" if 400 <= answer.status < 500 else f"status {answer.status} instead of a 4xx"
            if answer.status != 200:
                return f"status {answer.status}: {answer.body()[:200].decode(errors='replace')}"
            if exchange.kind is Kind.ABORTED:
                return "" if next(answer.chunks(), b"") else "an empty body"
            return "" if sum(map(len, answer.chunks())) else "an empty body"
        except (http.client.HTTPException, OSError) as error:
            return f"the answer broke off: {error!r}"
