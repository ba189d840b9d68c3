"""Reads the body of a request from its connection, as far as the limit allows. Runs on the request's thread."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import IO, Any

from flask import Request
from gunicorn.http.errors import NoMoreData, ParseException
from werkzeug.exceptions import RequestEntityTooLarge

from tts_service.allowed import shorten
from tts_service.errors import Code, RequestFailed

# A client that sends more than that is cut off.
DISCARD_BYTES = 64 << 20
# One that sends nothing for so long is waiting for its answer.
DISCARD_WAIT_S = 2.0
# One that sends a little now and then, too.
DISCARD_TOTAL_S = 10.0
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
    except TimeoutError:
        raise RequestFailed(Code.REQUEST_TIMEOUT, "the body of the request did not come in time") from None
    except (ParseException, NoMoreData) as error:
        # How gunicorn says that chunks are wrong, and that the client closed the connection in the middle of one.
        message = f"the body is not valid HTTP ({shorten(str(error))}): expected chunks and their sizes"
        raise RequestFailed(Code.BAD_HTTP, message) from None
    if too_long:
        discard(request.environ)
        raise RequestFailed(Code.BODY_TOO_LARGE, f"the body is longer than {max_bytes} bytes")
    return raw


def discard(environ: Mapping[str, Any]) -> None:
    """Read what nobody has read of the body, within bounds."""
    connection = environ.get("gunicorn.socket")
    deadline_s = time.monotonic() + DISCARD_TOTAL_S
    try:
        if connection is not None:
            connection.settimeout(DISCARD_WAIT_S)
        for _ in range(DISCARD_BYTES // PIECE_BYTES):
            if not environ["wsgi.input"].read(PIECE_BYTES) or time.monotonic() > deadline_s:
                return
    except (OSError, ParseException):
        return
    finally:
        if connection is not None:
            connection.settimeout(None)
