"""`tts-service serve`: both halves for one machine, as children of this process, which loads no model and no Flask."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from tts_service import __version__
from tts_service.cli.halves import Half, child_environment
from tts_service.cli.options import read_settings, runtime_dir_of, settings_flags
from tts_service.errors import ExitCode, Unavailable
from tts_service.http_client import Connection
from tts_service.log import set_up
from tts_service.orphans import name_process, reap_adopted
from tts_service.room import check_room, gateway_needs, workers_needs
from tts_service.settings import Loaded

if TYPE_CHECKING:
    from tts_workers.plan import Plan

logger = logging.getLogger(__name__)

TICK_S = 0.2
# On top of what the halves allow themselves, before they are killed.
STOP_MARGIN_S = 5.0


class Service:
    """The two halves, and what the operator is told about them."""

    def __init__(self, workers: Half, gateway: Half, loaded: Loaded, listener: socket.socket, url: str) -> None:
        self.halves = (workers, gateway)
        self.listener = listener
        self.settings = loaded.settings
        self.url = url
        self.signals = 0
        self._tick = threading.Event()

    def run(self) -> int:
        """Keep both halves running until a signal; return the exit code."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._note_signal)
        started_s = time.monotonic()
        ready = False
        while not self.signals:
            for half in self.halves:
                if (final := half.tend(time.monotonic())) is not None:
                    self._stop()
                    return final
            if not ready and (ready := is_ready(self.url)):
                _say(f"ready after {time.monotonic() - started_s:.1f} s")
            if os.getpid() == 1:
                reap_adopted({half.pid for half in self.halves})
            self._tick.wait(TICK_S)
            self._tick.clear()
        self._stop()
        return ExitCode.OK

    def _stop(self) -> None:
        """Stop the gateway first, so that what it has accepted is still spoken; a second signal ends it all at once."""
        workers, gateway = self.halves
        # The gateway closes its copies when it is told to stop (see DrainingWorker); with this one the last is gone,
        # and the kernel refuses connections.
        self.listener.close()
        gateway.stop(self.settings.gateway.graceful_timeout_s + STOP_MARGIN_S, kill=self.signals > 1)
        workers.stop(self.settings.workers.drain_timeout_s + STOP_MARGIN_S, kill=self.signals > 1)

    def _note_signal(self, number: int, frame: FrameType | None) -> None:
        self.signals += 1
        self._tick.set()
        if self.signals > 1:
            for half in self.halves:
                if half.pid:
                    os.kill(half.pid, signal.SIGKILL)


@click.command("serve")
@settings_flags("gateway", "pool", "runtime")
def command(config: Path | None, **flags: Any) -> int:
    """Serve speech over HTTP with a fixed set of pinned synthesis processes."""
    name_process("tts-service")
    loaded = read_settings(config, **flags)
    set_up(loaded.settings.service.log_level, "serve")
    runtime_dir = runtime_dir_of(loaded)
    runtime_dir.prepare()
    # The workers' half takes the lock for itself; here a second service is refused before it announces anything.
    runtime_dir.lock("workers")
    runtime_dir.unlock()

    from tts_service.gateway.api_keys import KeyRing
    from tts_service.gateway.listener import listen, url_of

    gateway_settings = loaded.settings.gateway
    KeyRing.of(gateway_settings, os.environ)
    plan = _plan(loaded)
    check_room(gateway_needs(gateway_settings) + workers_needs([spec.n_threads for spec in plan.specs]))
    with listen(gateway_settings.host, gateway_settings.port) as listener:
        url = url_of(listener, gateway_settings.host)
        environment = child_environment(loaded, config, runtime_dir)
        fd = listener.fileno()
        service = Service(
            Half("workers", [], environment),
            Half("gateway", ["--listener-fd", str(fd)], environment, pass_fds=(fd,)),
            loaded,
            listener,
            url,
        )
        _say(f"tts-service {__version__} listening on {url}\n{_describe_workers(plan)}\n{_try_it(url)}")
        return service.run()


def _say(text: str) -> None:
    """Tell the operator. A log on a full disk, or a reader who has left, is no reason to end the service."""
    try:
        click.echo(text)
    except OSError as error:
        logger.warning("cannot write to standard output: %s", error)


def is_ready(url: str) -> bool:
    """Return True when the service at `url` answers that it is ready."""
    try:
        with Connection(url, timeout_s=1.0) as connection:
            return connection.get("/ready").status == 200
    except Unavailable:
        return False


def _plan(loaded: Loaded) -> Plan:
    """Return the workers' plan; refuses here, before anything is started, what cannot work."""
    from tts_workers.plan import make_plan
    from tts_workers.sysfs import read_machine

    return make_plan(loaded.settings, runtime_dir_of(loaded), read_machine(set(os.sched_getaffinity(0))))


def _describe_workers(plan: Plan) -> str:
    """Return a line for each worker."""
    lines = [
        f"  worker {spec.index}: {spec.engine} ({spec.pool}), {spec.n_threads} thread{'s' * (spec.n_threads > 1)} on "
        f"CPU {', '.join(map(str, spec.cpus))}, {spec.n_slots} slots"
        for spec in plan.specs
    ]
    return "\n".join([*lines, *(f"  warning: {warning}" for warning in dict.fromkeys(plan.cpu_plan.warnings))])


def _try_it(url: str) -> str:
    body = '{"input": "Hello, world.", "response_format": "wav"}'
    return f"try it:\n  curl -s {url}/v1/audio/speech -H 'Content-Type: application/json' -d '{body}' -o hello.wav"
