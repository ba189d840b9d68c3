"""The threads drill can fail: against a server that synthesizes on its connections' threads, it does."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from support.benching import bench
from support.service import wait_until
from tts_service.bench.threads import ThreadsResult
from tts_service.errors import ExitCode

pytestmark = pytest.mark.system

SERVER = Path(__file__).parents[1] / "support" / "openmp_server" / "server.py"
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 20.0


@pytest.fixture
def bad_server(tmp_path: Path) -> Iterator[str]:
    """The URL of the bad server, fresh: its fault strikes with the second connection, and stays."""
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen([sys.executable, str(SERVER), "--port", "0"], stdout=output, stderr=output)
    try:
        found = wait_until(
            lambda: re.search(r"listening on port (\d+)", log.read_text()) or process.poll() is not None,
            START_TIMEOUT_S,
            "listening",
        )
        assert isinstance(found, re.Match), log.read_text()
        yield f"http://127.0.0.1:{found.group(1)}"
    finally:
        process.terminate()
        process.wait(STOP_TIMEOUT_S)


def test_threads_that_stay_behind_and_barriers_that_sleep_fail_the_drill(bad_server: str, tmp_path: Path) -> None:
    outcome = bench(tmp_path, "threads", "--connections", "15", "--url", bad_server)
    assert outcome.exit_code == ExitCode.FAILED, outcome.output + outcome.errors
    (run,) = msgspec.json.decode(outcome.json, type=ThreadsResult).runs
    (verdict,) = run.verdicts
    assert run.problems == []
    assert verdict.outcome == "FAILED"
    assert verdict.threads is not None
    assert verdict.threads[1] > verdict.threads[0]
    assert verdict.switches is not None
    assert verdict.switches[1] > 10 * max(50, verdict.switches[0])
    assert "live threads after connection 1" in outcome.output
    assert "voluntary switches per second of audio grew" in outcome.output
