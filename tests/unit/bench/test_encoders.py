"""The encoders scenario: every format, the same bytes each time, and a verdict where they are not."""

from __future__ import annotations

from typing import get_args

import msgspec

from tts_service.bench.encoders import STRETCH, Cost, Encoders, EncodersResult
from tts_service.bench.scenario import About, Step
from tts_service.bench.target import Target
from tts_service.gateway.encoders import Format


class Quiet:
    def begin(self, text: str, n_steps: int) -> Step:
        return lambda: None


def test_every_format_is_measured_and_is_the_same_each_time() -> None:
    result = Encoders(repeats=2, seconds=1.0).run(Target(), Quiet())
    assert [cost.name for cost in result.costs] == [*get_args(Format), STRETCH]
    assert result.faults() == []
    by_name = {cost.name: cost for cost in result.costs}
    assert by_name["pcm"].kbps == 384
    assert by_name["ulaw"].kbps == 64
    assert by_name["opus"].kbps < by_name["mp3"].kbps < by_name["flac"].kbps < by_name["pcm"].kbps
    assert all(len(cost.cpu_s) == 2 for cost in result.costs)
    assert len(result.tables()[0].rows) == len(result.costs)


def test_bytes_that_differ_are_a_fault() -> None:
    cost = Cost("opus", 24000, 1.0, [0.5, 0.1, 0.2], 4000, ["a", "b", "a"])
    result = EncodersResult(
        About.here(None), "load", [cost, msgspec.structs.replace(cost, name="mp3", digests=["a"] * 3)]
    )
    assert result.faults() == ["opus: its bytes are not the same each time"]
    assert cost.audio_per_cpu == 5.0
    assert cost.kbps == 32.0
