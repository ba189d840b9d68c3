"""Single sentences that arrive at random, and a book beside them. Pure: the same for the same seed."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any

from tts_service.bench.callers import Caller
from tts_service.bench.texts import SENTENCES

STREAMED: dict[str, Any] = {"response_format": "pcm", "stream": True}
# The book is a little ahead, so that the first one-liner finds it there.
BOOK_AHEAD_S = 0.5


def one_liners() -> list[dict[str, Any]]:
    """Return the body of a request for each sentence."""
    return [{"input": text, **STREAMED} for text in SENTENCES]


def arrivals(chars_per_s: float, seconds: float, seed: int, source: str = "") -> list[Caller]:
    """Return callers with one sentence each that together offer so many characters a second.

    They come like a Poisson process whose number of arrivals is known: evenly distributed, each on its own. Every forty
    of them ask for each sentence once.
    """
    draws = random.Random(seed)
    sentences: list[int] = []
    for sentence in _decks(draws):
        if sentences and chars_of([*sentences, sentence]) > chars_per_s * seconds:
            break
        sentences.append(sentence)
    times_s = sorted(BOOK_AHEAD_S + draws.uniform(0, seconds) for _ in sentences)
    return [Caller([sentence], at_s, source=source) for sentence, at_s in zip(sentences, times_s, strict=True)]


def _decks(draws: random.Random) -> Iterator[int]:
    """Yield sentences for ever: all of them in some order, then all again in another."""
    return itertools.chain.from_iterable(draws.sample(range(len(SENTENCES)), len(SENTENCES)) for _ in itertools.count())


def closed_loop(n_callers: int, n_requests: int, seed: int) -> list[Caller]:
    """Return callers that together ask for `n_requests` sentences, each for its next one when it has the last."""
    found = list(itertools.islice(_decks(random.Random(seed)), n_requests))
    return [Caller(found[start::n_callers]) for start in range(n_callers)]


def book(n_sentences: int) -> str:
    """Return a long text."""
    return " ".join(itertools.islice(itertools.cycle(SENTENCES), n_sentences))


def chars_of(requests: Sequence[int]) -> int:
    """Return the length of these sentences together."""
    return sum(len(SENTENCES[request]) for request in requests)
