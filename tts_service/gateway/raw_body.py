"""Reads the body of a request from its connection, as far as the limit allows. Runs on the request's thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from flask import Request
from werkzeug.exceptions import RequestEntityTooLarge

from tts_service.errors import Code, RequestFailed

# A client that sends more than that is cut off.
DISCARD_BYTES = 64 << 20
# One that sends nothing for so long is waiting for its answer.
DISCARD_WAIT_S = 2.0
PIECE_BYTES = 1 << 16


def read_raw(request: Request, max_bytes: int) -> bytes:
    """Return the body as it came. RequestFailed where it is longer than `max_bytes`, which is Flask's limit, too.

    A body that is too long is read on, and thrown away: a client that is still sending when its connection is closed
    sees a reset, and not the answer that tells it why (gunicorn reads on for 64 KiB only).
    """
    source: IO[bytes] = request.environ["wsgi.input"]
    try:
        raw = request.get_data()
        # Flask knows the length of a sized body beforehand; a chunked one it cuts off at the limit without a word.
        too_long = request.content_length is None and bool(source.read(1))
    except RequestEntityTooLarge:
        raw, too_long = b"", True
    if too_long:
        _discard(request.environ)
        raise RequestFailed(Code.BODY_TOO_LARGE, f"the body is longer than {max_bytes} bytes")
    return raw


def _discard(environ: Mapping[str, Any]) -> None:
    connection = environ.get("gunicorn.socket")
    try:
        if connection is not None:
            connection.settimeout(DISCARD_WAIT_S)
        for _ in range(DISCARD_BYTES // PIECE_BYTES):
            if not environ["wsgi.input"].read(PIECE_BYTES):
                return
    except OSError:
        return
    finally:
        if connection is not None:
            connection.settimeout(None)
