"""Bodies of speech requests at random: valid, nearly valid, mutilated, and plain noise. One seed, one series."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

TEXTS = [
    "Hello.",
    "x",
    "",
    " ",
    "a" * 300,
    "One. Two! Three?",
    "Größe, naïve",
    "🙂",
    "\u0000",
    "[[",
    "123",
    "\u202eabc",
]
ODD: list[Any] = [None, True, False, 0, -1, 1.5, 1e308, 2**63, -(2**63), "", "0", "null", [], [[]], {}, {"id": "hz400"}]
FIELDS: dict[str, list[Any]] = {
    "input": TEXTS,
    "model": ["tts-1", "default", "tone", "nobody"],
    "voice": ["hz300", "hz400", "nobody", "alloy", {"id": "hz500"}, "../../etc/passwd"],
    "response_format": ["mp3", "wav", "pcm", "opus", "aac", "flac", "exe"],
    "speed": [0.25, 1, 4, 0.2499, 1e300, -0.0],
    "seed": [0, 1, -1, 2**63 - 1, 2**63],
    "language": ["en", "de-CH", "x" * 40],
    "sample_rate": [8000, 16000, 24000, 48000, "native", 7999, 12345],
    "priority": [-10, 10, "batch", 11],
    "timeout": [0.001, 5, 1e9],
    "stream": [True, False],
    "stream_format": ["audio", "sse"],
    "instructions": ["Be kind."],
    "trim": [True],
    "junk": [{"a": [1, 2, {"b": None}]}],
}


def random_bodies(n: int, seed: int) -> Iterator[bytes]:
    """Yield `n` bodies."""
    dice = random.Random(seed)
    kinds: list[Callable[[random.Random], bytes]] = [_fields, _fields, _fields, _mutilated, _mutilated, _noise]
    for _ in range(n):
        yield dice.choice(kinds)(dice)


def _fields(dice: random.Random) -> bytes:
    body: dict[str, Any] = {"input": dice.choice(TEXTS)}
    for name in dice.sample(list(FIELDS), dice.randrange(6)):
        body[name] = dice.choice(ODD if dice.random() < 0.2 else FIELDS[name])
    return json.dumps(body, ensure_ascii=dice.random() < 0.5).encode()


def _mutilated(dice: random.Random) -> bytes:
    raw = bytearray(_fields(dice))
    for _ in range(dice.randrange(1, 6)):
        at = dice.randrange(len(raw) + 1)
        what = dice.randrange(4)
        if what == 0:
            del raw[at : at + dice.randrange(1, 9)]
        elif what == 1:
            raw[at:at] = dice.choice([b"NaN", b"\\ud800", b"\xff", b"[" * 2000, b'"', b"\\", b"\x00", b"1e999", b"}"])
        elif what == 2 and at < len(raw):
            raw[at] = dice.randrange(256)
        else:
            raw = raw[at:] + raw[:at]
    return bytes(raw)


def _noise(dice: random.Random) -> bytes:
    return dice.randbytes(dice.choice([0, 1, 10, 1000, 60_000]))
