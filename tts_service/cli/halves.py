"""The two halves of a service as children of one process: started, watched, started again, stopped in order.

Owned by the main thread of `serve` (and of `say`, which needs the workers' half alone).
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tts_service.errors import ExitCode
from tts_service.runtime_dir import RuntimeDir
from tts_service.settings import Loaded
from tts_service.settings.keys import keys, value_of
from tts_service.settings.load import COMMAND_LINE, CONFIG_VARIABLE

logger = logging.getLogger(__name__)

# A restart cannot mend these.
FINAL_CODES = frozenset({ExitCode.USAGE, ExitCode.BAD_SETTINGS, ExitCode.CANNOT_START, ExitCode.ENGINE_BROKEN})
FIRST_BACKOFF_S = 0.2
MAX_BACKOFF_S = 10.0
# A half that has lived so long starts again at once.
GOOD_LIFE_S = 30.0


class Half:
    """One half, through all its lives."""

    def __init__(
        self, name: str, arguments: list[str], environment: dict[str, str], pass_fds: tuple[int, ...] = ()
    ) -> None:
        self.name = name
        self._arguments = arguments
        self._environment = environment
        self._pass_fds = pass_fds
        self._process: subprocess.Popen[bytes] | None = None
        self._started_s = 0.0
        self._start_at_s = 0.0
        self._backoff_s = 0.0

    @property
    def pid(self) -> int:
        """Of the present life; 0 when there is none."""
        return self._process.pid if self._process else 0

    def start(self) -> None:
        """Begin a life. Call from the main thread: children die with the thread that started them."""
        # -P: the installed package, whatever lies in the present directory.
        command = [
            sys.executable,
            "-P",
            "-m",
            "tts_service",
            self.name,
            *self._arguments,
            "--parent-pid",
            str(os.getpid()),
        ]
        # Its own session: a Ctrl-C at the terminal is this process's to handle.
        self._process = subprocess.Popen(
            command, env=self._environment, pass_fds=self._pass_fds, stdin=subprocess.DEVNULL, start_new_session=True
        )
        self._started_s = time.monotonic()

    def tend(self, now: float) -> ExitCode | None:
        """Start the half again if it has ended. Return its exit code where that would not help."""
        if self._process is not None and (status := self._process.poll()) is not None:
            self._process = None
            if status in FINAL_CODES:
                return ExitCode(status)
            self._backoff_s = (
                0.0
                if now - self._started_s > GOOD_LIFE_S
                else min(MAX_BACKOFF_S, max(FIRST_BACKOFF_S, 2 * self._backoff_s))
            )
            self._start_at_s = now + self._backoff_s
            logger.warning("the %s half ended with status %d; starting it again", self.name, status)
        if self._process is None and now >= self._start_at_s:
            self.start()
        return None

    def stop(self, timeout_s: float, *, kill: bool = False) -> None:
        """End the half: gracefully for up to `timeout_s`, then by force. With `kill`, by force at once."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            logger.error("the %s half did not stop within %.0f s: killed", self.name, timeout_s)
            self._process.kill()
            self._process.wait()
        self._process = None


def child_environment(loaded: Loaded, config: Path | None, runtime_dir: RuntimeDir) -> dict[str, str]:
    """Return the environment in which a half finds the same settings as this process, flags included."""
    environment = dict(os.environ) | {"TTS_SERVICE_SERVICE_RUNTIME_DIR": str(runtime_dir.path)}
    if config is not None:
        environment[CONFIG_VARIABLE] = str(config.absolute())
    for key in keys(list(loaded.settings.pools)):
        if loaded.origins.get(key.dotted) == COMMAND_LINE:
            environment[key.env] = str(value_of(loaded.settings, key))
    return environment
