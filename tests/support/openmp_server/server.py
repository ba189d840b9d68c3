"""A text-to-speech server that must not be copied: it synthesizes on the connections' threads, with OpenMP.

Run as `python server.py --port N`. The main thread accepts and never synthesizes. A pool of threads that never ends
serves the connections, as in cpp-httplib, and each new connection gets the thread that has been idle longest. So fresh
connections, one after the other, visit every thread, and each thread leaves a team of OpenMP threads behind. (With a
thread per connection that ends with it, libgomp frees the team, and nothing grows.)
"""

import argparse
import json
import queue
import signal
import socket
import sys
import tempfile
import threading
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeAlias

from synthesis import SAMPLES_PER_CHARACTER, Synthesizer, load_library, wav_header

# Odd, so that a client which takes turns between speech and /workers still reaches every thread with speech.
POOL_THREADS = 9
# An idle connection holds its pool thread; cpp-httplib lets go of it after a few seconds too.
KEEP_ALIVE_S = 5.0
# How soon a signal is noticed.
POLL_S = 0.5

Connection: TypeAlias = socket.socket | tuple[bytes, socket.socket]
Inbox: TypeAlias = "queue.SimpleQueue[tuple[Connection, Any]]"


class BadRequest(Exception):
    """The client's request cannot be served; the text says why."""


@dataclass(frozen=True)
class SpeechRequest:
    """The body of POST /v1/audio/speech; the voice is of no consequence."""

    text: str
    """What to say, never empty."""
    response_format: str
    """`wav` or `pcm`; pcm when the client names none."""
    stream: bool
    """Whether the body goes out in chunks while it is made."""

    @classmethod
    def parse(cls, body: bytes) -> "SpeechRequest":
        """Return the request in `body`; raises BadRequest for bad JSON, no input, an unknown format."""
        try:
            fields = json.loads(body)
        except ValueError as error:
            raise BadRequest(f"the body is not JSON: {error}") from error
        if not isinstance(fields, dict):
            raise BadRequest("the body is not a JSON object")
        text, response_format = fields.get("input"), fields.get("response_format", "pcm")
        if not isinstance(text, str) or not text:
            raise BadRequest("input is missing or not a text")
        if response_format not in ("wav", "pcm"):
            raise BadRequest(f"response_format must be wav or pcm, not {response_format!r}")
        return cls(text, response_format, fields.get("stream") is True)


class Handler(BaseHTTPRequestHandler):
    """One connection on its pool thread: reads a request, synthesizes right there, answers, reads the next."""

    protocol_version = "HTTP/1.1"
    timeout = KEEP_ALIVE_S
    disable_nagle_algorithm = True
    server: "PoolServer"

    def do_GET(self) -> None:
        if self.path == "/health":
            self._send_json(HTTPStatus.OK, {"status": "ok"})
        elif self.path == "/workers":
            self._send_json(HTTPStatus.OK, {"workers": [self.server.synthesizer.worker()]})
        else:
            self._send_error(HTTPStatus.NOT_FOUND, f"no such path: {self.path}")

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            self.close_connection = True  # nobody knows where the body ends
            self._send_error(HTTPStatus.BAD_REQUEST, "Content-Length is missing or not a number")
            return
        body = self.rfile.read(int(length))
        if self.path != "/v1/audio/speech":
            self._send_error(HTTPStatus.NOT_FOUND, f"no such path: {self.path}")
            return
        try:
            request = SpeechRequest.parse(body)
        except BadRequest as error:
            self._send_error(HTTPStatus.BAD_REQUEST, str(error))
            return
        self._send_speech(request)

    def _send_speech(self, request: SpeechRequest) -> None:
        n_samples = len(request.text) * SAMPLES_PER_CHARACTER
        header, content_type = b"", "audio/pcm"
        if request.response_format == "wav":
            header, content_type = wav_header(n_samples), "audio/wav"
        segments = self.server.synthesizer.segments(n_samples)
        if not request.stream:
            self._send(HTTPStatus.OK, content_type, header + b"".join(segments))
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for segment in segments:
            piece, header = header + segment, b""
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    def _send_json(self, status: HTTPStatus, value: dict[str, Any]) -> None:
        self._send(status, "application/json", json.dumps(value).encode())

    def _send_error(self, status: HTTPStatus, message: str) -> None:
        self._send_json(status, {"error": {"message": message, "type": "invalid_request_error", "code": None}})

    def _send(self, status: HTTPStatus, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: a blocking write would be one more voluntary switch."""


class PoolServer(ThreadingHTTPServer):
    """Accepts on the thread that calls `run`, and hands each connection to the pool thread idle the longest."""

    daemon_threads = True
    request_queue_size = 128
    timeout = POLL_S

    def __init__(self, port: int, synthesizer: Synthesizer) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.synthesizer = synthesizer
        self._idle: queue.SimpleQueue[Inbox] = queue.SimpleQueue()
        self._next: Inbox | None = None

    def run(self, stopping: threading.Event) -> None:
        """Start the pool and serve until `stopping` is set; connections still open end with the process."""
        for _ in range(POOL_THREADS):
            threading.Thread(target=self._serve, daemon=True).start()
        while not stopping.is_set():
            try:
                self._next = self._next or self._idle.get(timeout=POLL_S)
            except queue.Empty:
                continue  # every thread is busy: connections wait in the listen queue
            self.handle_request()

    def process_request(self, request: Connection, client_address: Any) -> None:
        inbox, self._next = self._next, None
        assert inbox is not None  # `run` accepts only with an idle thread at hand
        inbox.put((request, client_address))

    def handle_error(self, request: Connection, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a client that leaves is no error
            super().handle_error(request, client_address)

    def _serve(self) -> None:
        inbox: Inbox = queue.SimpleQueue()
        while True:
            self._idle.put(inbox)
            # No timeout, it would count as a voluntary switch; a daemon thread needs no way out.
            self.process_request_thread(*inbox.get())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--port", type=int, required=True, help="port on 127.0.0.1, 0 for a free one")
    port = parser.parse_args().port
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    with tempfile.TemporaryDirectory(prefix="openmp-server-") as directory:
        synthesizer = Synthesizer(load_library(Path(directory)))
        with PoolServer(port, synthesizer) as server:
            print(f"listening on port {server.server_port}", flush=True)
            server.run(stopping)


if __name__ == "__main__":
    main()
