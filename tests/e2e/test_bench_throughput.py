"""The throughput scenario against real servers."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from support.benching import bench
from support.service import Service
from tts_service.bench.texts import SENTENCES
from tts_service.bench.throughput import ThroughputResult
from tts_service.errors import ExitCode

pytestmark = pytest.mark.system

TONE_S_PER_CHAR = 0.06


@pytest.mark.parametrize("how", [("--kept", "--streamed"), ("--fresh", "--buffered")], ids=" ".join)
def test_every_text_is_spoken_once_a_round_and_its_cost_is_found(
    tone: Service, tmp_path: Path, how: tuple[str, str]
) -> None:
    arguments = ("-c", "1", "-c", "4", "-n", str(len(SENTENCES)), "--url", tone.url, *how)
    outcome = bench(tmp_path, "throughput", *arguments)
    assert outcome.exit_code == ExitCode.OK, outcome.output + outcome.errors
    result = msgspec.json.decode(outcome.json, type=ThroughputResult)
    assert [(line.concurrency, line.n_ok, line.n_failed) for line in result.lines] == [(1, 40, 0), (4, 40, 0)]
    characters = sum(map(len, SENTENCES))
    for one in result.rounds:
        assert one.audio_s == pytest.approx(characters * TONE_S_PER_CHAR, abs=0.01)
        assert one.local_cpu is not None
        assert one.local_cpu.gateway_s > 0
        assert one.local_cpu.dispatcher_s > 0


def test_the_raw_loop_makes_the_same_audio_without_a_server(tmp_path: Path) -> None:
    arguments = ("-c", "2", "-n", str(len(SENTENCES)), "--rounds", "2", "--limit", "--workers", "2", "--engine", "tone")
    outcome = bench(tmp_path, "throughput", *arguments)
    assert outcome.exit_code == ExitCode.OK, outcome.output + outcome.errors
    result = msgspec.json.decode(outcome.json, type=ThroughputResult)
    assert len(result.raw_rounds) == len(result.rounds) == 2
    for one, raw in zip(result.rounds, result.raw_rounds, strict=True):
        assert len(raw.reports) == 2
        assert sum(report.audio_s for report in raw.reports) == pytest.approx(one.audio_s, abs=0.01)
    (line,) = result.lines
    assert line.raw_ratio is not None
    assert line.raw_ratio > 0
