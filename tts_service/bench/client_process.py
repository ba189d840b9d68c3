"""`python -m tts_service.bench.client_process`: makes requests, so that their cost stays out of what is measured.

One thread for each request in progress. A process apart, because its CPU time is not the server's.
"""

from __future__ import annotations

import http.client
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import msgspec

from tts_service.bench.apis import APIS
from tts_service.bench.line_process import LineProcess, Ready, serve_lines
from tts_service.bench.playback import Playback
from tts_service.bench.speaker import Speaker, SpeechFailed, Wanted
from tts_service.errors import Unavailable

REQUEST_TIMEOUT_S = 300.0
START_TIMEOUT_S = 60.0
# What Playback counts in.
_US_PER_S = 1_000_000


class Load(msgspec.Struct, frozen=True):
    """One round of requests."""

    url: str
    texts: list[str]
    """Of each request, in order."""
    wanted: Wanted
    concurrency: int
    kept: bool
    """Whether a thread keeps its connection, or makes a fresh one for each request."""
    api: str = "openai"


class Timing(msgspec.Struct, frozen=True):
    """One request as its client saw it, in seconds."""

    total_s: float
    first_audio_s: float
    """To the first piece of audio."""
    problem: str = ""
    """Why it failed; "" where it did not."""
    text: int = 0
    """Its index in the round."""
    audio_s: float = 0.0
    """That came; 0 in formats that are not counted."""
    n_dry: int = 0
    """Times that a player, which plays what comes as it comes, would have run dry."""
    dry_s: float = 0.0


class LoadReport(msgspec.Struct, frozen=True):
    """What came of a round."""

    started_s: float
    """Monotonic time, which all processes of a machine share."""
    ended_s: float
    cpu_s: float
    timings: list[Timing]


def make(load: Load) -> LoadReport:
    """Make all requests of a round."""
    waiting = deque(enumerate(load.texts))
    timings: list[Timing] = []
    started_s, cpu_s = time.monotonic(), time.process_time()
    with ThreadPoolExecutor(load.concurrency) as threads:
        clients = [threads.submit(_client, load, waiting, timings) for _ in range(load.concurrency)]
    for client in clients:
        client.result()
    return LoadReport(started_s, time.monotonic(), time.process_time() - cpu_s, timings)


def _client(load: Load, waiting: deque[tuple[int, str]], timings: list[Timing]) -> None:
    """Make requests until none is left; both collections are shared by all threads."""
    speaker: Speaker | None = None
    while True:
        try:
            number, text = waiting.popleft()
        except IndexError:
            break
        started_s = time.monotonic()
        speaker = speaker or APIS[load.api].make(load.url, load.wanted, REQUEST_TIMEOUT_S)
        timing = _request(speaker, text, started_s)
        timings.append(msgspec.structs.replace(timing, text=number))
        if timing.problem or not load.kept:
            speaker.close()
            speaker = None
    if speaker is not None:
        speaker.close()


def _request(speaker: Speaker, text: str, started_s: float) -> Timing:
    first_s = audio_s = 0.0
    playback = Playback(_US_PER_S)
    try:
        for seconds in speaker.speak(text):
            now = time.monotonic()
            first_s = first_s or now
            audio_s += seconds
            if seconds:
                playback.heard(now, round(_US_PER_S * seconds))
    except SpeechFailed as error:
        return Timing(time.monotonic() - started_s, 0.0, str(error))
    except (http.client.HTTPException, OSError, Unavailable) as error:
        return Timing(time.monotonic() - started_s, 0.0, f"{type(error).__name__}: {error}")
    if not first_s:
        return Timing(time.monotonic() - started_s, 0.0, "an answer without audio")
    return Timing(
        total_s=time.monotonic() - started_s,
        first_audio_s=first_s - started_s,
        audio_s=audio_s,
        n_dry=playback.n_dry,
        dry_s=playback.dry_s,
    )


@contextmanager
def client_process() -> Iterator[LineProcess]:
    """Give a process that takes a Load and answers with a LoadReport."""
    with LineProcess("tts_service.bench.client_process", []) as process:
        process.receive(Ready, START_TIMEOUT_S)
        yield process


if __name__ == "__main__":
    serve_lines(Load, lambda: make)
