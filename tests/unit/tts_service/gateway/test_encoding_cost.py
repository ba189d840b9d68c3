"""What encoding is expected to cost: by format, from what it has cost, and told with every job."""

from __future__ import annotations

from typing import Any

import pytest

from support.fake_client import FakeGateway
from support.pools import pool
from tts_service.gateway.body import SpeechBody
from tts_service.gateway.encoding_cost import EncodingCost
from tts_service.gateway.utterance import Utterance, resolve

LONG = "A sentence that is long enough for a whole second of audio, and some more."


def asked(**fields: Any) -> Utterance:
    return resolve(SpeechBody(input="Hello.", **fields), [pool(max_speed=1.0)], 24000)


def test_a_format_costs_what_it_has_cost_and_an_unknown_one_nothing() -> None:
    cost = EncodingCost()
    cost.learn(asked(response_format="opus"), 0.5, 10.0)
    assert cost.of(asked(response_format="opus")) == pytest.approx(0.05)
    assert cost.of(asked(response_format="pcm")) == 0.0
    assert cost.of(asked(response_format="opus", speed=2.0)) == 0.0, "another tempo is other work"
    for _ in range(100):
        cost.learn(asked(response_format="opus"), 0.1, 10.0)
    assert cost.of(asked(response_format="opus")) == pytest.approx(0.01, rel=0.1)


def test_an_answer_with_hardly_any_audio_says_nothing() -> None:
    cost = EncodingCost()
    cost.learn(asked(), 0.5, 0.0)
    cost.learn(asked(), 0.5, 0.1)
    assert cost.of(asked()) == 0.0


def test_a_job_says_what_the_encoding_of_its_audio_will_cost() -> None:
    gateway = FakeGateway()
    for n in range(2):
        for response_format in ("pcm", "opus"):
            assert gateway.speak(f"{LONG} {LONG} Number {n}.", response_format=response_format).data
    firsts = [job for job in gateway.client.posted if job.key.segment == 0]
    assert [job.encoding_s > 0 for job in firsts] == [False, False, True, True]
    assert firsts[3].encoding_s > 2 * firsts[2].encoding_s, "opus is more work than pcm"
