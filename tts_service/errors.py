"""One hierarchy of errors for every process, and the named exit codes of the commands.

`RequestFailed` means that one request cannot be answered; the process goes on. `ProcessMustEnd` means that this process
cannot go on and has to be replaced. Nothing else crosses a module's edge on purpose.
"""

from __future__ import annotations

import enum


class ExitCode(enum.IntEnum):
    """Exit status of every `tts-service` command and of the synthesis processes (after sysexits.h where it has one)."""

    OK = 0
    FAILED = 1
    USAGE = 64
    BAD_INPUT = 65
    UNAVAILABLE = 69
    ENGINE_BROKEN = 70
    CANNOT_START = 71
    CANNOT_WRITE = 73
    STALE_VERSION = 75
    BAD_SETTINGS = 78


class Code(enum.StrEnum):
    """What went wrong with a request: the `code` of the JSON error and of a `Failed` message."""

    INVALID_REQUEST = "invalid_request"
    BAD_HTTP = "bad_http"
    INVALID_API_KEY = "invalid_api_key"
    RATE_LIMITED = "rate_limit_exceeded"
    REQUEST_TIMEOUT = "request_timeout"
    MODEL_NOT_FOUND = "model_not_found"
    VOICE_NOT_FOUND = "voice_not_found"
    NOTHING_TO_SPEAK = "nothing_to_speak"
    TEXT_TOO_LONG = "text_too_long"
    AUDIO_TOO_LONG = "audio_too_long"
    UNSUPPORTED_TEXT = "unsupported_text"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    BODY_TOO_LARGE = "body_too_large"
    RANGE_NOT_SATISFIABLE = "range_not_satisfiable"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    TOO_MANY_REQUESTS = "too_many_requests"
    QUEUE_FULL = "queue_full"
    NOT_READY = "not_ready"
    DRAINING = "draining"
    WORKER_DIED = "worker_died"
    POISONOUS_TEXT = "poisonous_text"
    DEADLINE_UNREACHABLE = "deadline_unreachable"
    DISPATCHER_LOST = "dispatcher_lost"
    GENERATION_CHANGED = "generation_changed"
    VERSION_MISMATCH = "version_mismatch"
    ENGINE_FAILED = "engine_failed"
    ENGINE_FAILED_TOGETHER = "engine_failed_together"
    TIMED_OUT = "timed_out"
    INTERNAL = "internal"

    @property
    def status(self) -> int:
        """The HTTP status that an answer with this code has."""
        return _STATUS[self]

    @property
    def resubmittable(self) -> bool:
        """True where the same job can succeed on another worker, so the gateway submits it again."""
        return self in _RESUBMITTABLE


_STATUS: dict[Code, int] = {
    Code.INVALID_REQUEST: 400,
    Code.BAD_HTTP: 400,
    Code.INVALID_API_KEY: 401,
    Code.RATE_LIMITED: 429,
    Code.REQUEST_TIMEOUT: 408,
    Code.MODEL_NOT_FOUND: 404,
    Code.VOICE_NOT_FOUND: 400,
    Code.NOTHING_TO_SPEAK: 400,
    Code.TEXT_TOO_LONG: 400,
    Code.AUDIO_TOO_LONG: 400,
    Code.UNSUPPORTED_TEXT: 400,
    Code.NOT_FOUND: 404,
    Code.METHOD_NOT_ALLOWED: 405,
    Code.BODY_TOO_LARGE: 413,
    Code.RANGE_NOT_SATISFIABLE: 416,
    Code.UNSUPPORTED_MEDIA_TYPE: 415,
    Code.TOO_MANY_REQUESTS: 503,
    Code.QUEUE_FULL: 503,
    Code.NOT_READY: 503,
    Code.DRAINING: 503,
    Code.WORKER_DIED: 503,
    Code.POISONOUS_TEXT: 500,
    Code.DEADLINE_UNREACHABLE: 503,
    Code.DISPATCHER_LOST: 503,
    Code.GENERATION_CHANGED: 503,
    Code.VERSION_MISMATCH: 503,
    Code.ENGINE_FAILED: 500,
    Code.ENGINE_FAILED_TOGETHER: 500,
    Code.TIMED_OUT: 504,
    Code.INTERNAL: 500,
}
_RESUBMITTABLE = frozenset({Code.WORKER_DIED, Code.ENGINE_FAILED_TOGETHER, Code.DISPATCHER_LOST, Code.DRAINING})

# Whether it was this job or a neighbour's that did it shows only when it runs alone.
SUSPICIOUS = frozenset({Code.WORKER_DIED, Code.ENGINE_FAILED_TOGETHER})


class TtsError(Exception):
    """The root of every error that is raised on purpose."""


class RequestFailed(TtsError):
    """One request cannot be answered.

    `param` names the offending field of the request, "" where there is none; `retry_after_s` is how long a client
    should wait before it tries again, 0 where trying again would not help or no time is known.
    """

    def __init__(self, code: Code, message: str, *, param: str = "", retry_after_s: float = 0.0) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.param = param
        self.retry_after_s = retry_after_s


class ClientGone(TtsError):
    """The client of a request has closed its connection; nobody waits for an answer."""


class ProtocolError(TtsError):
    """A message between two processes that this version cannot read."""


class ProcessMustEnd(TtsError):
    """This process cannot go on; `exit_code` tells its parent why, the message tells the operator what to do."""

    exit_code = ExitCode.FAILED


class UsageError(ProcessMustEnd):
    """A command line that asks for something which cannot be."""

    exit_code = ExitCode.USAGE


class SettingsError(ProcessMustEnd):
    """A setting is wrong; the message names the key, its value and what is allowed."""

    exit_code = ExitCode.BAD_SETTINGS


class CannotStart(ProcessMustEnd):
    """The machine lacks what this process needs: a socket directory, a free port, enough CPUs."""

    exit_code = ExitCode.CANNOT_START


class EngineBroken(ProcessMustEnd):
    """The engine in this synthesis process cannot be loaded or trusted any more."""

    exit_code = ExitCode.ENGINE_BROKEN


class StaleVersion(ProcessMustEnd):
    """This process runs code that has been replaced on disk; its parent should start it again."""

    exit_code = ExitCode.STALE_VERSION


class Unavailable(ProcessMustEnd):
    """A server that a command needs does not answer."""

    exit_code = ExitCode.UNAVAILABLE
