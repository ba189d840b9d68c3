"""An HTTP server that keeps connections and gives prepared answers, one after the other, the last one for ever."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Prepared = tuple[int, bytes]
"""Status and body."""


class PreparedServer(ThreadingHTTPServer):
    """Counts requests and connections."""

    def __init__(self, answers: list[Prepared]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = answers
        self.n_requests = 0
        self.n_connections = 0
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def next_answer(self) -> Prepared:
        with self.lock:
            self.n_requests += 1
            return self.answers[min(self.n_requests, len(self.answers)) - 1]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: PreparedServer

    def setup(self) -> None:
        super().setup()
        with self.server.lock:
            self.server.n_connections += 1

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, body = self.server.next_answer()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@contextmanager
def serving(answers: list[Prepared]) -> Iterator[PreparedServer]:
    """Serve until the block ends."""
    with PreparedServer(answers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
