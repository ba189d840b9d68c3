"""A short soak of the real service finds nothing; the long one is a command: tts-service bench soak."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.system, pytest.mark.timeout(120)]


def test_mem_04_mem_06_a_short_soak_leaves_nothing_behind(tmp_path: Path) -> None:
    report, plot = tmp_path / "soak.json", tmp_path / "soak.png"
    # Half a minute is all warm-up for memory, which test_memory.py looks after; for the rest it is enough.
    flags = ["--minutes", "0.5", "--samples", "8", "--max-growth", "16", "--json", str(report), "--png", str(plot)]
    command = [sys.executable, "-m", "tts_service", "bench", "soak", *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(report.read_text())
    assert found["problems"] == []
    for kind in ("whole", "stream", "leave early", "leave late", "bad", "fresh connections"):
        assert found["counts"][kind] > 0, kind
    names = {process["name"] for process in found["samples"][-1]["processes"]}
    assert {"tts-service", "tts-gateway", "tts-workers", "tts-worker-0"} <= names
    assert plot.stat().st_size > 10_000
