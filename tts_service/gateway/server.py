"""The `tts-gateway` process: gunicorn with our application and our settings.

gunicorn's arbiter forks the worker processes; each builds the application and its line to the dispatcher after the
fork, on its main thread, and serves requests on a bounded pool of threads.
"""

from __future__ import annotations

import logging
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication

from tts_service.errors import ProcessMustEnd
from tts_service.gateway.admission import Admission
from tts_service.gateway.allocator import return_large_blocks
from tts_service.gateway.api_keys import KeyRing
from tts_service.gateway.app import make_app
from tts_service.gateway.client import DispatcherClient
from tts_service.gateway.disk_store import check_private
from tts_service.gateway.listener import BACKLOG, listen, url_of
from tts_service.gateway.result_cache import make_cache
from tts_service.orphans import die_with_parent, name_process
from tts_service.room import GATEWAY_DESCRIPTORS, MAX_CONNECTIONS, check_room, gateway_needs
from tts_service.runtime_dir import RuntimeDir
from tts_service.settings import Settings
from tts_service.text.lexicon import check_lexicon
from tts_service.versions import InstalledVersion

logger = logging.getLogger(__name__)


class GatewayServer(BaseApplication):  # type: ignore[misc]
    """gunicorn's application object."""

    def __init__(
        self,
        settings: Settings,
        runtime_dir: RuntimeDir,
        listener_fd: int | None,
        reread: Callable[[], Settings],
    ) -> None:
        self.settings = settings
        self._reread = reread
        self.runtime_dir = runtime_dir
        self._listener_fd = listener_fd
        self._version = InstalledVersion()
        self._client: DispatcherClient | None = None
        self._worker: Any = None
        """gunicorn's, in its own process."""
        super().__init__()

    def load_config(self) -> None:
        """Called by gunicorn: hand our settings over."""
        gateway = self.settings.gateway
        values: dict[str, Any] = {
            "worker_class": "tts_service.gateway.draining_worker.DrainingWorker",
            "workers": gateway.processes,
            "threads": gateway.threads,
            "worker_connections": _connections(gateway.threads),
            "backlog": BACKLOG,
            # The longest that gunicorn allows; a GET carries its text there.
            "limit_request_line": 8190,
            "keepalive": gateway.keepalive_s,
            "graceful_timeout": gateway.graceful_timeout_s,
            # Touched by every process each second; a disk that stalls must not look like a process that hangs.
            "worker_tmp_dir": "/dev/shm" if os.access("/dev/shm", os.W_OK) else None,
            # It would be written below $HOME.
            "control_socket_disable": True,
            "accesslog": None,
            "errorlog": "-",
            "loglevel": "warning",
            "post_fork": self._after_fork,
            "worker_exit": self._before_exit,
        }
        if self._listener_fd is not None:
            values["bind"] = f"fd://{self._listener_fd}"
        for name, value in values.items():
            # Older gunicorn versions have no control socket, and no setting for it.
            if name in self.cfg.settings and value is not None:
                self.cfg.set(name, value)

    def reload(self) -> None:
        """Called by gunicorn's arbiter on SIGHUP, before it starts fresh processes and has the old ones finish."""
        try:
            self.settings = self._reread()
        except ProcessMustEnd as error:
            logger.error("not reloaded, everything goes on as before: %s", error)
        super().reload()

    def load(self) -> Flask:
        """Called by gunicorn in each process, after the fork: build the application."""
        settings = self.settings.gateway
        admission = Admission(settings.max_requests)
        cache = make_cache(settings)
        self._client = DispatcherClient(
            self.runtime_dir.gateway_endpoint,
            settings.reconnect_timeout_s,
            self._refused,
            n_requests=lambda: admission.n_inside,
            cache_use=lambda: cache.use() if cache else None,
        )
        self._client.start()
        keys = KeyRing.of(settings, os.environ)
        return make_app(settings, self._client, admission, keys, cache, stopping=lambda: not self._worker.alive)

    def _after_fork(self, arbiter: Any, worker: Any) -> None:
        self._worker = worker
        die_with_parent(arbiter.pid)
        name_process("tts-gateway")
        return_large_blocks()

    def _before_exit(self, arbiter: Any, worker: Any) -> None:
        if self._client is not None:
            self._client.close()

    def _refused(self, message: str) -> None:
        """The other half is of another version. If this one has been replaced on disk, end it to be started anew."""
        if self._version.is_stale():
            logger.error("this gateway has been replaced on disk: ending, to be started again")
            os.kill(os.getppid(), signal.SIGTERM)


def _connections(n_threads: int) -> int:
    """Return how many connections a process can have: its limit of open files is raised for them, as far as it goes.

    gunicorn's loop ends when it cannot accept one, and every stream of the process with it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_CONNECTIONS + GATEWAY_DESCRIPTORS
    if soft < wanted:
        soft = min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    # Those beyond the threads are kept alive between requests.
    return max(n_threads + 1, min(MAX_CONNECTIONS, soft - GATEWAY_DESCRIPTORS))


def run(settings: Settings, runtime_dir: RuntimeDir, listener_fd: int | None, reread: Callable[[], Settings]) -> None:
    """Serve until told to stop; gunicorn ends the process.

    The listening socket is `listener_fd`, or the one that systemd passes, or a new one. `reread` returns the settings
    as they are when a SIGHUP asks for fresh gateway processes.
    """
    # What is wrong with them is told here, and not by each process.
    KeyRing.of(settings.gateway, os.environ)
    runtime_dir.prepare()
    if settings.gateway.lexicon:
        check_lexicon(Path(settings.gateway.lexicon))
    if settings.gateway.cache_mib and settings.gateway.cache_dir:
        check_private(Path(settings.gateway.cache_dir).absolute())
    check_room(gateway_needs(settings.gateway))
    if listener_fd is None and os.environ.get("LISTEN_PID") != str(os.getpid()):
        listener = listen(settings.gateway.host, settings.gateway.port)
        logger.info("listening on %s", url_of(listener, settings.gateway.host))
        listener_fd = listener.detach()
    GatewayServer(settings, runtime_dir, listener_fd, reread).run()
