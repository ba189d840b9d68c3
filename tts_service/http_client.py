"""A small HTTP client for the commands: one request on a fresh or kept connection, read whole or as it comes.

Used by `say --url`, `serve` and `bench`; each connection belongs to the thread that made it.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from tts_service.errors import Unavailable, UsageError

READ_BYTES = 65536
# The API key that goes with every request, where a server wants one.
API_KEY_VARIABLE = "TTS_SERVICE_API_KEY"


class Answer:
    """A status, headers, and a body that is read once."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self._response = response

    def chunks(self) -> Iterator[bytes]:
        """Yield the body as it comes. http.client.IncompleteRead where it breaks off."""
        while data := self._read1():
            yield data
        # A body that broke off reads like one that ended, unless what is missing is asked for: the rest of a counted
        # one, the last chunk of a chunked one.
        if self._response.length or (self._response.chunked and not self._response.isclosed()):
            raise http.client.IncompleteRead(b"")
        # `read1` leaves a counted body open at its end, and the connection could not be used again.
        self._response.close()

    def body(self) -> bytes:
        """Return the whole body. http.client.IncompleteRead where it breaks off."""
        try:
            return self._response.read()
        except ConnectionError as error:
            raise http.client.IncompleteRead(b"") from error

    def json(self) -> Any:
        """Return the body as JSON."""
        return json.loads(self.body())

    def _read1(self) -> bytes:
        try:
            return self._response.read1(READ_BYTES)
        except ConnectionError as error:
            raise http.client.IncompleteRead(b"") from error


class Connection:
    """One connection to a server; a context manager."""

    def __init__(self, url: str, timeout_s: float, source: str = "") -> None:
        self._connection, path = _open(url, timeout_s, source)
        self._prefix = path.rstrip("/")
        self.url = url
        key = os.environ.get(API_KEY_VARIABLE, "")
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}

    def get(self, path: str) -> Answer:
        """Send a GET. Unavailable where no server answers."""
        return self._send("GET", path, None, {})

    def post(self, path: str, value: Any, headers: dict[str, str] | None = None) -> Answer:
        """Send `value` as JSON. Unavailable where no server answers."""
        return self._send(
            "POST", path, json.dumps(value).encode(), {"Content-Type": "application/json", **(headers or {})}
        )

    def post_text(self, path: str, text: str) -> Answer:
        """Send a text as it is. Unavailable where no server answers."""
        return self._send("POST", path, text.encode(), {"Content-Type": "text/plain; charset=utf-8"})

    def close(self) -> None:
        """Close the connection, whatever is still to come on it."""
        self._connection.close()

    def break_off(self) -> None:
        """End what another thread is doing with this connection, which then fails there."""
        if (sock := self._connection.sock) is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        try:
            self._connection.request(method, self._prefix + path or "/", body, self._headers | headers)
            return Answer(self._connection.getresponse())
        except OSError as error:
            raise Unavailable(f"no server answers at {self.url}: {error.strerror or error}") from error
        except http.client.HTTPException as error:
            raise Unavailable(f"the server at {self.url} broke off: {error!r}") from error


def _open(url: str, timeout_s: float, source: str) -> tuple[http.client.HTTPConnection, str]:
    """Return a connection for `url`, not yet made, and the path in it. UsageError where it is no URL of a server.

    `source` is the address of this machine that it is to come from, "" for any.
    """
    try:
        parts = urlsplit(url if "//" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        address = (source, 0) if source else None
        return kind(parts.hostname, parts.port, timeout=timeout_s, source_address=address), parts.path
    except (ValueError, http.client.InvalidURL):
        raise UsageError(f"--url {url}: expected something like http://127.0.0.1:8000") from None
