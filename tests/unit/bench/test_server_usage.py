"""CPU time and memory of a server's processes, with a real family of them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from support.service import wait_until
from tts_service.bench.server_usage import ServerTree

pytestmark = pytest.mark.system

# A parent with 32 MiB of its own and a child; each line it reads makes another child work for a while and end.
_FAMILY = """
import subprocess, sys
held = b"x" * (32 << 20)
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
print("ready", flush=True)
work = "import time\\nwhile time.process_time() < 0.3: pass"
for line in sys.stdin:
    subprocess.run([sys.executable, "-c", work], check=True)
    print("done", flush=True)
child.communicate(b"\\n")
"""


@pytest.fixture
def family() -> Iterator[subprocess.Popen[str]]:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", _FAMILY], stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process


def test_children_that_came_and_went_between_two_readings_are_counted(family: subprocess.Popen[str]) -> None:
    assert family.stdin is not None
    assert family.stdout is not None
    tree = ServerTree([family.pid])
    before = tree.cpu_s()
    family.stdin.write("\n")
    family.stdin.flush()
    assert family.stdout.readline() == "done\n"
    assert tree.cpu_s() - before >= 0.25


def test_memory_threads_and_processes_are_those_of_all(family: subprocess.Popen[str]) -> None:
    # A root below another one counts once.
    (child,) = wait_until(psutil.Process(family.pid).children, 10.0, "a child")
    usage = ServerTree([family.pid, child.pid]).read()
    assert usage.n_processes == 2
    assert usage.n_threads == 2
    assert usage.pss_mib > 32


def test_processes_that_are_gone_are_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    usage = ServerTree([process.pid]).read()
    assert (usage.cpu_s, usage.pss_bytes, usage.n_threads) == (0.0, 0, 0)
