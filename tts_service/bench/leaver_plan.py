"""Who leaves when in the leavers scenario, and how. Pure: the same for the same seed."""

from __future__ import annotations

import random

from tts_service.bench.leaver_process import Leaver
from tts_service.bench.texts import PAIRS, SENTENCES

KINDS = ("waiting", "mid-stream", "in one piece")
STAY_S = 2.0
# Of a stream: its head and up to a second of audio.
TAKEN_BYTES = (500, 50_000)


def plan_leavers(n: int, seconds: float, seed: int) -> list[Leaver]:
    """Return `n` clients, the same for the same seed."""
    draws = random.Random(seed)
    found = []
    for k in range(n):
        kind = KINDS[k % len(KINDS)]
        streamed = kind != "in one piece"
        # A stream that is left in the middle has to be longer than what is taken of it.
        text = draws.choice(SENTENCES) if k % 2 and kind != "mid-stream" else " ".join(PAIRS)
        body = {"input": text, "response_format": "pcm" if streamed else "wav", "stream": streamed}
        at_s, stays_s = draws.uniform(0, seconds), draws.uniform(0, STAY_S)
        taken = draws.randint(*TAKEN_BYTES) if kind == "mid-stream" else 0
        # Who wants to have heard something waits for it.
        found.append(Leaver(body, at_s, STAY_S + seconds if taken else stays_s, taken, k // len(KINDS) % 2 == 0))
    return found


def kind_of(leaver: Leaver) -> str:
    """Return which third of the clients one belongs to."""
    if not leaver.body["stream"]:
        return "in one piece"
    return "mid-stream" if leaver.takes_bytes else "waiting"
