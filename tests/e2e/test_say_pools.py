"""`say` with several pools: it waits for the one that it speaks with, whichever is up first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.system


def test_say_waits_for_the_pool_that_it_speaks_with(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(
        '[pools.slow]\nengine = "tone"\nworkers = 1\noptions = {load_s = 1.5}\n'
        '[pools.fast]\nengine = "tone"\nworkers = 1\n'
    )
    command = [sys.executable, "-m", "tts_service", "say", "Hello.", "--model", "slow", "-o", str(tmp_path / "a.wav")]
    done = subprocess.run(
        [*command, "--config", str(tmp_path / "two.toml")], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
