"""JSON answers: errors in OpenAI's shape, and the identifiers of requests. Pure but for Flask's types."""

from __future__ import annotations

import math
import re
import secrets
from typing import Any

import msgspec
from flask import Response

from tts_service.errors import RequestFailed

REQUEST_ID = "X-Request-Id"
_ACCEPTABLE_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")


def json_answer(value: Any, status: int = 200) -> Response:
    """Return `value` as strict JSON: msgspec writes null where a number is not finite."""
    return Response(msgspec.json.encode(value), status, mimetype="application/json")


def error_answer(message: str, code: str, status: int, param: str = "", retry_after_s: float = 0.0) -> Response:
    """Return an error as OpenAI's clients read it."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    answer = json_answer({"error": {"message": message, "type": kind, "param": param or None, "code": code}}, status)
    if status == 503:
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
