"""The drill that proves the bug away: fresh connections leave no thread behind, and wake no thread more often."""

from __future__ import annotations

import os
import subprocess
import tempfile
import uuid
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from support.benching import MARK, bench, command, processes_of
from support.service import Service, wait_until
from tts_service.bench.threads import ThreadsResult
from tts_service.errors import ExitCode

pytestmark = pytest.mark.system

CONNECTIONS = 30
# Effective cores depend on what else the machine does; the counts do not.
COUNTS_ONLY = ("--connections", str(CONNECTIONS), "--min-cores-ratio", "0")


def counts_hold(result: ThreadsResult, n_workers: int) -> None:
    """Assert of every drill that threads never changed and switches stayed in proportion to the audio."""
    for run in result.runs:
        assert run.problems == []
        assert Counter(run.kinds) == {"wav": 12, "pcm": 9, "aborted": 6, "invalid": 3}
        for reading in run.readings[1:]:
            first = run.readings[1]
            assert [worker.live_threads for worker in reading.workers] == [w.live_threads for w in first.workers]
            assert [worker.pid for worker in reading.workers] == [w.pid for w in first.workers]
        for verdict in run.verdicts:
            assert verdict.outcome == "holds"
            assert verdict.switches is not None
            assert verdict.switches[1] <= 2 * max(50, verdict.switches[0])
            assert verdict.audio_s > CONNECTIONS
    assert sum(len(run.verdicts) for run in result.runs) == n_workers


def test_own_servers_of_both_shapes_keep_their_threads(tmp_path: Path) -> None:
    png, mark = tmp_path / "result.png", uuid.uuid4().hex
    shapes = ("--shape", "2x1", "--shape", "1x2")
    outcome = bench(tmp_path, "threads", *COUNTS_ONLY, *shapes, "--png", str(png), mark=mark)
    assert outcome.exit_code == ExitCode.OK, outcome.output + outcome.errors
    result = msgspec.json.decode(outcome.json, type=ThreadsResult)
    assert [run.label for run in result.runs] == ["2x1", "1x2"]
    counts_hold(result, n_workers=3)
    assert png.read_bytes().startswith(b"\x89PNG")
    assert outcome.errors == "", "no progress bar where standard error is no terminal"
    assert processes_of(mark) == []


def test_a_running_server_is_measured_by_its_url(tone: Service, tmp_path: Path) -> None:
    outcome = bench(tmp_path, "threads", *COUNTS_ONLY, "--url", tone.url)
    assert outcome.exit_code == ExitCode.OK, outcome.output + outcome.errors
    result = msgspec.json.decode(outcome.json, type=ThreadsResult)
    assert result.about.url == tone.url
    counts_hold(result, n_workers=2)


def test_a_server_that_cannot_start_is_named_by_its_own_words(tmp_path: Path) -> None:
    outcome = bench(tmp_path, "threads", "--engine", "tone", "--workers", "999")
    assert outcome.exit_code == ExitCode.CANNOT_START
    assert "need 999 CPUs" in outcome.errors
    assert outcome.json == b""


def test_a_drill_that_is_killed_leaves_no_server_behind() -> None:
    mark = uuid.uuid4().hex
    # Killed, it cannot clean up: its own directories go with this one. Short, for the sockets in it.
    with tempfile.TemporaryDirectory(prefix="b-") as directory:
        drill = subprocess.Popen(
            command("threads", "--engine", "tone", "--connections", "100000"),
            env=dict(os.environ) | {MARK: mark, "TMPDIR": directory},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_until(lambda: "tts-worker-0" in processes_of(mark), 60.0, "a worker")
        finally:
            drill.kill()
            drill.wait()
        wait_until(lambda: not processes_of(mark), 30.0, "the end of all processes")
