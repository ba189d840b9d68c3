"""A job's last message has all of the segment's words, also where only its end was wanted."""

from __future__ import annotations

import pytest

from support.outbox import Outbox
from support.pools import job
from tts_service.protocol import Done, Word
from tts_workers.core import SynthesisCore
from tts_workers.engines import EngineOptions
from tts_workers.engines.tone import ToneEngine

RATE_HZ = 24000
CHAR = round(0.06 * RATE_HZ)


@pytest.mark.parametrize("from_sample", [0, 1, CHAR * 4 + 7, CHAR * 10])
def test_words_do_not_depend_on_the_sample_from_which_a_job_is_wanted(from_sample: int) -> None:
    engine, outbox = ToneEngine(EngineOptions(None, 1, {"sample_rate_hz": RATE_HZ})), Outbox()
    engine.load()
    core = SynthesisCore(engine, "g1", 1, outbox.send)
    wanted = job(voice="hz400", text="Now, and then", max_samples=10**9, from_sample=from_sample)
    core.assign(wanted)
    while core.slots.n_active:
        core.advance()
    last = outbox.last(wanted.key)
    assert isinstance(last, Done)
    edges = [0, CHAR * 5, CHAR * 9, CHAR * 13]
    assert last.words == (Word(0, 4, *edges[:2]), Word(5, 8, *edges[1:3]), Word(9, 13, *edges[2:]))
