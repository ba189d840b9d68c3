"""Children that end with their parent. Real processes: only the kernel keeps this promise."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import psutil

from support.service import wait_until
from tts_service.orphans import name_process

# Prints its pid once it is bound to its parent, then waits for ever.
CHILD = """
import os, sys, time
from tts_service.orphans import die_with_parent
die_with_parent(os.getppid())
print(os.getpid(), flush=True)
time.sleep(600)
"""
PARENT = f"""
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", {CHILD!r}])
time.sleep(600)
"""
OF_ANOTHER_PARENT = """
import sys
from tts_service.errors import ProcessMustEnd
from tts_service.orphans import die_with_parent
try:
    die_with_parent(1 if len(sys.argv) == 1 else int(sys.argv[1]))
except ProcessMustEnd as error:
    sys.exit(str(error))
"""


def test_a_child_dies_with_a_parent_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        assert child.ppid() == parent.pid
        parent.kill()
        # The child holds the other end of the pipe: it closes when the child is gone.
        assert parent.stdout.read() == b""
        wait_until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE, 5.0, "the child's end")


def test_a_child_whose_parent_has_ended_already_refuses_to_start() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    command = [sys.executable, "-c", OF_ANOTHER_PARENT, str(gone.pid)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=10.0, check=False)
    assert done.returncode == 1
    assert f"parent {gone.pid} ended before its child" in done.stderr


def test_a_name_is_shown_for_the_thread_cut_to_what_the_kernel_holds() -> None:
    shown: list[str] = []

    def name_this_thread() -> None:
        name_process("tts-worker-with-a-long-name")
        shown.append(Path(f"/proc/self/task/{threading.get_native_id()}/comm").read_text())

    thread = threading.Thread(target=name_this_thread)
    thread.start()
    thread.join()
    assert shown == ["tts-worker-with\n"]
    assert Path(f"/proc/{os.getpid()}/comm").read_text() != shown[0]
