"""Made-up answers as the callers of `bench` hear them."""

from __future__ import annotations

from typing import Any

import msgspec

from tts_service.bench.callers import Heard

HEARD = Heard(
    caller=0,
    request=0,
    at_s=1.0,
    total_s=2.0,
    status=200,
    first_audio_s=0.1,
    n_bytes=96000,
    digest="abc",
)


def heard(**changes: Any) -> Heard:
    """Return a whole answer, with some fields of one's own."""
    return msgspec.structs.replace(HEARD, **changes)


def refused(**changes: Any) -> Heard:
    """Return a refusal as it should be."""
    fields = {"status": 503, "first_audio_s": None, "n_bytes": 0, "digest": "", "total_s": 0.002}
    fields |= {"retry_after": "3", "should_retry": "true", "problem": "status 503: full"}
    return heard(**fields | changes)


def unanswered(**changes: Any) -> Heard:
    """Return a request whose client hung up before anything came."""
    fields = {"status": 0, "first_audio_s": None, "n_bytes": 0, "digest": "", "hung_up": True, "problem": "hung up"}
    return heard(**fields | changes)
