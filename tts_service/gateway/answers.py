"""JSON answers: errors in OpenAI's shape, and the identifiers of requests. Pure but for Flask's types."""

from __future__ import annotations

import math
import re
import secrets
from typing import Annotated, Any, Literal

import msgspec
from flask import Response
from msgspec import Meta

from tts_service.errors import RequestFailed

REQUEST_ID = "X-Request-Id"
_ACCEPTABLE_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")


def json_answer(value: Any, status: int = 200) -> Response:
    """Return `value` as strict JSON: msgspec writes null where a number is not finite."""
    return Response(msgspec.json.encode(value), status, mimetype="application/json")


class ErrorDetail(msgspec.Struct, frozen=True):
    """What went wrong."""

    message: Annotated[str, Meta(description="For people: the field, its value and what is allowed.")]
    type: Annotated[
        Literal["invalid_request_error", "rate_limit_error", "server_error"], Meta(description="Whose fault it was.")
    ]
    param: Annotated[str | None, Meta(description="The field of the request that is wrong, where it is one.")]
    code: Annotated[str, Meta(description="For programs.")]


class ErrorBody(msgspec.Struct, frozen=True):
    """An error, in the shape that OpenAI's clients read."""

    error: ErrorDetail


def error_body(message: str, code: str, status: int, param: str = "") -> ErrorBody:
    """Return the body of an answer with an error."""
    kind: Literal["invalid_request_error", "rate_limit_error", "server_error"] = "invalid_request_error"
    if status == 429:
        kind = "rate_limit_error"
    elif status >= 500:
        kind = "server_error"
    return ErrorBody(ErrorDetail(message, kind, param or None, code))


def error_answer(message: str, code: str, status: int, param: str = "", retry_after_s: float = 0.0) -> Response:
    """Return an error as OpenAI's clients read it."""
    answer = json_answer(error_body(message, code, status, param), status)
    if status == 401:
        answer.headers["WWW-Authenticate"] = 'Bearer realm="tts-service"'
    if status in (429, 503):
        # OpenAI's clients go by this header, where there is one.
        answer.headers["x-should-retry"] = "true"
        answer.headers["Retry-After"] = str(max(1, math.ceil(retry_after_s)))
    return answer


def failure_answer(error: RequestFailed) -> Response:
    """Return the answer for a request that failed."""
    return error_answer(error.message, error.code, error.code.status, error.param, error.retry_after_s)


def request_id(sent: str | None) -> str:
    """Return the id that the client sent, if it is one, or a new one."""
    return sent if sent and _ACCEPTABLE_ID.fullmatch(sent) else "req-" + secrets.token_hex(8)
