"""A service of a user without a home, who may write nowhere but in the runtime directory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from support.service import running

pytestmark = pytest.mark.system

NOBODY = 65534
BARE = ("env", "HOME=/nonexistent", "XDG_CACHE_HOME=/nonexistent", "sh", "-c", 'umask 077; exec "$0" "$@"')


def can_import(prefix: tuple[str, ...]) -> bool:
    """Return True where this installation can be read by whom `prefix` makes of us."""
    command = [*prefix, sys.executable, "-c", "import tts_service, tts_workers, numpy"]
    return subprocess.run(command, capture_output=True, timeout=30, cwd="/").returncode == 0


def other_user() -> tuple[tuple[str, ...], int]:
    """Return the command that makes us nobody, where that may be and can read the installation; else ourselves."""
    prefix = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    if os.getuid() == 0 and can_import((*prefix, *BARE)):
        return prefix, NOBODY
    return (), os.getuid()


def test_dep_06_a_user_without_a_home_can_serve() -> None:
    prefix, uid = other_user()
    with tempfile.TemporaryDirectory(prefix="tts-") as directory:
        runtime_dir = Path(directory) / "run"
        runtime_dir.mkdir(mode=0o700)
        os.chmod(directory, 0o711)
        os.chown(runtime_dir, uid, -1)
        with running("--runtime-dir", str(runtime_dir), prefix=(*prefix, *BARE)) as service:
            assert service.pcm("Without a home.")
            for process in service.processes():
                assert process.uids().effective == uid
            assert "Traceback" not in service.text_of_log()
            assert "denied" not in service.text_of_log()
        assert {path.stat().st_mode & 0o077 for path in [runtime_dir, *runtime_dir.iterdir()]} == {0}
    assert not Path("/nonexistent").exists()
