"""Makes a process end with its parent, and gives it a name in ps. Called by the child itself, on its main thread."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Container

from tts_service.errors import ProcessMustEnd

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_NAME_BYTES = 15


def die_with_parent(parent_pid: int, death_signal: signal.Signals = signal.SIGKILL) -> None:
    """Ask the kernel to send `death_signal` to this process when its parent ends.

    The signal comes when the parent's *thread* that started this process ends, so a parent starts children from its
    main thread only. ProcessMustEnd if the parent `parent_pid` had ended before the call took effect.
    """
    _prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(death_signal))
    if os.getppid() != parent_pid:
        raise ProcessMustEnd(f"parent {parent_pid} ended before its child {os.getpid()} had started")


def reap_adopted(own: Container[int]) -> None:
    """Collect the processes that have ended and are not `own`.

    The first process of a container inherits those whose parent was killed; without this they stay as zombies.
    """
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if ended is None or ended.si_pid in own:
            return
        os.waitpid(ended.si_pid, 0)


def name_process(name: str) -> None:
    """Show `name` (at most 15 bytes) as this process's command name in ps and top."""
    _prctl(_PR_SET_NAME, ctypes.create_string_buffer(name.encode()[:_NAME_BYTES]))


def _prctl(option: int, argument: object) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, argument, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option})")
