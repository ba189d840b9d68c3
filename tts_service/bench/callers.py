"""`python -m tts_service.bench.callers`: many clients at once, each on a thread of its own, at times of their own.

A process apart from the server and from the command, so that neither waits for it. Times are seconds from the start of
a round.
"""

from __future__ import annotations

import hashlib
import http.client
import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from tts_service.bench.line_process import LineProcess, Ready, serve_lines
from tts_service.bench.playback import Playback
from tts_service.errors import Unavailable
from tts_service.http_client import Answer, Connection

SPEECH = "/v1/audio/speech"
START_TIMEOUT_S = 60.0
REQUEST_TIMEOUT_S = 600.0
HANG_UP_S = 0.1
PCM_BYTES = 2


class Caller(msgspec.Struct, frozen=True):
    """One client: what it asks for, one after the other."""

    requests: list[int]
    """Indices in the round's bodies."""
    at_s: float = 0.0
    until_s: float = 0.0
    """It goes round its requests until then; each of them once where this is 0."""
    source: str = ""
    """The loopback address it comes from; "" for any."""


class Calls(msgspec.Struct, frozen=True):
    """A round."""

    url: str
    bodies: list[dict[str, Any]]
    callers: list[Caller]
    give_up_s: float = REQUEST_TIMEOUT_S
    """Whoever is still waiting then hangs up."""


class Heard(msgspec.Struct, frozen=True):
    """One request as its client saw it."""

    caller: int
    """Index in the round's callers."""
    request: int
    """Index in the round's bodies."""
    at_s: float
    total_s: float
    """To the end of the answer, or until the client hung up."""
    status: int = 0
    """0 where no answer began."""
    first_audio_s: float | None = None
    """To the first byte of the body of a 200."""
    n_bytes: int = 0
    digest: str = ""
    """SHA-256 of the body of a 200."""
    n_dry: int = 0
    """Times that a player of this stream would have run dry; of pcm only."""
    dry_s: float = 0.0
    retry_after: str = ""
    should_retry: str = ""
    problem: str = ""
    """Why there is no whole answer with status 200; "" where there is one."""
    hung_up: bool = False
    """The client did not wait for the end."""

    @property
    def refused(self) -> bool:
        """True for a 503."""
        return self.status == 503


class CallsReport(msgspec.Struct, frozen=True):
    """What came of a round."""

    started_s: float
    """Monotonic time, which all processes of a machine share."""
    heard: list[Heard]


class _Client(threading.Thread):
    """One caller's thread."""

    def __init__(self, calls: Calls, index: int, started_s: float) -> None:
        super().__init__(daemon=True)
        self.heard: list[Heard] = []
        self._calls = calls
        self._index = index
        self._caller = calls.callers[index]
        self._started_s = started_s
        self._connection: Connection | None = None
        self._hung_up = False

    def run(self) -> None:
        requests = self._caller.requests
        for request in itertools.cycle(requests) if self._caller.until_s else requests:
            self.heard.append(self._call(request))
            if self._hung_up or (self._caller.until_s and self._now() >= self._caller.until_s):
                return

    def hang_up(self) -> None:
        """Wait for nothing any more. Called from another thread."""
        self._hung_up = True
        if (connection := self._connection) is not None:
            connection.break_off()

    def _now(self) -> float:
        return time.monotonic() - self._started_s

    def _call(self, request: int) -> Heard:
        body = self._calls.bodies[request]
        heard = Heard(self._index, request, self._now(), 0.0)
        try:
            with Connection(self._calls.url, REQUEST_TIMEOUT_S, self._caller.source) as self._connection:
                heard = self._listen(heard, self._connection.post(SPEECH, body), body)
        except (http.client.HTTPException, OSError, Unavailable) as error:
            heard = msgspec.structs.replace(heard, problem=f"{type(error).__name__}: {error}")
        hung_up = self._hung_up and heard.problem != ""
        return msgspec.structs.replace(heard, total_s=self._now() - heard.at_s, hung_up=hung_up)

    def _listen(self, heard: Heard, answer: Answer, body: dict[str, Any]) -> Heard:
        """Read a whole answer; what is not as it should be is in the problem."""
        if answer.status != 200:
            text = answer.body()[:200].decode(errors="replace")
            return msgspec.structs.replace(
                heard,
                status=answer.status,
                retry_after=answer.headers.get("Retry-After", ""),
                should_retry=answer.headers.get("x-should-retry", ""),
                problem=f"status {answer.status}: {text}",
            )
        rate_hz = int(answer.headers.get("X-Sample-Rate") or 0) if body.get("response_format") == "pcm" else 0
        playback = Playback(PCM_BYTES * rate_hz) if rate_hz else None
        digest = hashlib.sha256()
        n_bytes, first_s, problem = 0, None, ""
        try:
            for chunk in answer.chunks():
                now = self._now()
                first_s = now - heard.at_s if first_s is None else first_s
                if playback:
                    playback.heard(now, len(chunk))
                n_bytes += len(chunk)
                digest.update(chunk)
        except (http.client.HTTPException, OSError) as error:
            problem = f"the answer broke off after {n_bytes} bytes: {error!r}"
        return msgspec.structs.replace(
            heard,
            status=200,
            first_audio_s=first_s,
            n_bytes=n_bytes,
            digest=digest.hexdigest(),
            n_dry=playback.n_dry if playback else 0,
            dry_s=playback.dry_s if playback else 0.0,
            problem=problem or ("" if n_bytes else "an empty body"),
        )


def make(calls: Calls) -> CallsReport:
    """Carry out a round."""
    started_s = time.monotonic()
    clients = []
    for index in sorted(range(len(calls.callers)), key=lambda index: calls.callers[index].at_s):
        time.sleep(max(0.0, started_s + calls.callers[index].at_s - time.monotonic()))
        client = _Client(calls, index, started_s)
        client.start()
        clients.append(client)
    for client in clients:
        client.join(max(0.0, started_s + calls.give_up_s - time.monotonic()))
    for client in clients:
        # More than once where it is only about to connect.
        while client.is_alive():
            client.hang_up()
            client.join(HANG_UP_S)
    return CallsReport(started_s, [heard for client in clients for heard in client.heard])


@contextmanager
def callers() -> Iterator[LineProcess]:
    """Give a process that takes Calls and answers with a CallsReport."""
    with LineProcess("tts_service.bench.callers", []) as process:
        process.receive(Ready, START_TIMEOUT_S)
        yield process


def call(process: LineProcess, calls: Calls) -> list[Heard]:
    """Have a round carried out and return what was heard."""
    process.send(calls)
    return process.receive(CallsReport, calls.give_up_s + REQUEST_TIMEOUT_S).heard


if __name__ == "__main__":
    serve_lines(Calls, lambda: make)
