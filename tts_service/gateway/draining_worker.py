"""gunicorn's threaded worker, with two changes to how connections come and go. Runs on the process's main thread."""

from __future__ import annotations

import errno
import logging
import os
import time
from typing import Any

from gunicorn.workers.gthread import TConn, ThreadWorker

from tts_service.gateway.arrivals import Arrivals
from tts_service.gateway.raw_errors import describe, raw_error, status_of
from tts_service.notify import Notifier

logger = logging.getLogger(__name__)

# Without a free file descriptor there is nothing to do but to wait for one.
NO_DESCRIPTOR_S = 0.05


class _Connection(TConn):  # type: ignore[misc]
    """Closes after its last answer without holding up others.

    gunicorn does it on the main thread, and waits up to 2 s there for the client to do so, too.
    """

    worker: DrainingWorker

    def close(self, graceful: bool = False) -> None:
        """Called by gunicorn."""
        if graceful:
            self.worker.leave(self)
        else:
            super().close()


class DrainingWorker(ThreadWorker):  # type: ignore[misc]
    """Gives a request a thread only when it has come whole, and closes its listener as soon as it is told to stop.

    gunicorn's own worker stops accepting, and keeps the socket open until its last answer is over: the kernel goes
    on completing connections that nobody accepts, which hang for that long and are reset in the end.
    """

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        self._notifier = Notifier.from_environment(os.environ, keep=True)

    def notify(self) -> None:
        """Called by gunicorn's loop at every turn: the arbiter hears that it goes on, and so does a service manager."""
        super().notify()
        self._notifier.feed(time.monotonic())

    def init_process(self) -> None:
        """Called by gunicorn after the fork; does not return before the end."""
        self._arrivals: Arrivals | None = None
        super().init_process()

    def set_accept_enabled(self, enabled: bool) -> None:
        """Called by gunicorn's loop; the last time, with False, when the worker is to stop."""
        if not enabled and not self.alive:
            self._take_what_waits()
        super().set_accept_enabled(enabled)
        if not enabled and not self.alive:
            for listener in self.sockets:
                listener.close()
            self.arrivals.hasten()

    def accept(self, listener: Any) -> None:
        """Called by gunicorn's loop when a connection waits."""
        self._accept(listener)

    def enqueue_req(self, conn: Any) -> None:
        """Called for every connection that is new, or readable after its last answer."""
        self.arrivals.admit(conn)

    def leave(self, conn: Any) -> None:
        """Called for every connection after its last answer, when gunicorn does not count it any more."""
        self.nr_conns += 1
        self.arrivals.leave(conn)

    def _accept(self, listener: Any) -> bool:
        """Take one connection; return False where none waits."""
        if self.nr_conns >= self.worker_connections - 1:
            self.arrivals.make_room()
        try:
            sock, address = listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                if not self.arrivals.make_room():
                    time.sleep(NO_DESCRIPTOR_S)
                return False
            if error.errno not in (errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK):
                raise
            return False
        self.nr_conns += 1
        connection = _Connection(self.cfg, sock, address, listener.getsockname())
        connection.worker = self
        self.enqueue_req(connection)
        return True

    def murder_pending(self) -> None:
        """Called by gunicorn's loop, once a second at least."""
        super().murder_pending()
        self.arrivals.expire()

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        """Called by gunicorn for what the application never saw; its own answer would be HTML."""
        status = status_of(exc)
        if status == 500:
            logger.error("cannot answer a request", exc_info=exc)
        else:
            # Its message may have words of the request in it.
            logger.info("refused what came on a connection: status=%d %s", status, type(exc).__name__)
        try:
            client.sendall(raw_error(status, describe(exc)))
        except OSError:
            logger.debug("nobody read why", exc_info=True)

    @property
    def arrivals(self) -> Arrivals:
        """Made at its first use, when gunicorn has its poller."""
        if self._arrivals is None:
            gateway = self.app.settings.gateway
            self._arrivals = Arrivals(
                self.poller,
                super().enqueue_req,
                self._one_less,
                head_timeout_s=gateway.header_timeout_s,
                body_timeout_s=gateway.body_timeout_s,
                max_body_bytes=gateway.max_body_bytes,
            )
        return self._arrivals

    def _one_less(self) -> None:
        self.nr_conns -= 1

    def _take_what_waits(self) -> None:
        """Accept the connections that the kernel has completed already; their requests are answered."""
        if not self._accepting:
            return
        for listener in self.sockets:
            while self._accept(listener):
                pass
