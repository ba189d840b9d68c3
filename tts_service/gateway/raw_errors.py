"""Answers to what never becomes a request of the application: bytes that are not HTTP, heads too long. Pure."""

from __future__ import annotations

import secrets
from http import HTTPStatus

import msgspec
from gunicorn.http import errors

from tts_service.allowed import shorten
from tts_service.errors import Code
from tts_service.gateway.answers import REQUEST_ID, error_body

_STATUS: dict[type[Exception], int] = {
    errors.LimitRequestLine: 414,
    errors.LimitRequestHeaders: 431,
    errors.ExpectationFailed: 417,
    errors.ForbiddenProxyRequest: 403,
    errors.UnsupportedTransferCoding: 501,
}


def status_of(error: BaseException) -> int:
    """Return the status for what gunicorn found wrong with a request; 500 where the fault is not the client's."""
    if isinstance(error, errors.InvalidResponseHeader | errors.InvalidResponseHeaderName):
        return 500
    if isinstance(error, TimeoutError):
        return 408
    for kind, status in _STATUS.items():
        if isinstance(error, kind):
            return status
    return 400 if isinstance(error, errors.ParseException) else 500


def describe(error: BaseException) -> str:
    """Return what is wrong, as the client may read it."""
    status = status_of(error)
    if status == 500:
        return "an unexpected error; the server's log says more"
    if status == 408:
        return "the request did not come in time"
    return f"this is not a valid HTTP request: {shorten(str(error), 200)}"


def raw_error(status: int, message: str) -> bytes:
    """Return a whole HTTP answer that closes its connection, with an error as OpenAI's clients read it."""
    code = Code.INTERNAL if status == 500 else Code.REQUEST_TIMEOUT if status == 408 else Code.BAD_HTTP
    body = msgspec.json.encode(error_body(message, code, status))
    head = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        "Connection: close",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        f"{REQUEST_ID}: req-{secrets.token_hex(8)}",
    ]
    return "\r\n".join([*head, "", ""]).encode("ascii") + body
