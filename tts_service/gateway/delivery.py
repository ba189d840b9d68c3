"""Turns a request's samples into the bytes of its answer, in one piece or as a stream. Runs on the request's thread."""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable, Iterator

import numpy as np

from tts_service.errors import ClientGone, Code, RequestFailed
from tts_service.gateway.budget import AudioBudget
from tts_service.gateway.encoders import Encoder
from tts_service.gateway.finishing import Finishing
from tts_service.gateway.pcm import Int16, PcmStream
from tts_service.gateway.speech import Speech

logger = logging.getLogger(__name__)

Finish = Callable[[str], None]


def pcm_of(speech: Speech, stream: PcmStream | Finishing) -> Iterator[Int16]:
    """Yield the request's PCM at the rate of the answer."""
    for samples in speech.audio():
        yield stream.push(samples)
    yield stream.finish()


class WholeAnswer:
    """An answer in one piece, with exact sizes, whose bytes count against the process's audio budget."""

    def __init__(self, budget: AudioBudget) -> None:
        self._budget = budget
        self._n_reserved = 0

    def collect(self, pcm: Iterator[Int16], encoder: Encoder, max_audio_s: float) -> bytes:
        """Return the body. RequestFailed where the audio is too long, or has no room now."""
        parts: list[bytes] = []
        n_samples = 0
        limit = min(max_audio_s * encoder.rate_hz, encoder.max_samples)
        for part in pcm:
            n_samples += len(part)
            if n_samples > limit:
                seconds = limit / encoder.rate_hz
                message = f"the audio is longer than {seconds:g} s, the limit of such an answer in one piece; stream it"
                raise RequestFailed(Code.AUDIO_TOO_LONG, message, param="input")
            parts.append(encoder.encode(part))
            self._reserve(len(parts[-1]))
        # The last of it may be all, as with captions.
        last = encoder.end()
        data = b"".join([encoder.begin(n_samples), *parts, last])
        whole = encoder.whole(data)
        if whole is not data:
            self._reserve(max(0, len(whole) - len(data)))
        return whole

    def release(self) -> None:
        """Give the room back. May be called twice."""
        n_bytes, self._n_reserved = self._n_reserved, 0
        self._budget.give(n_bytes)

    def _reserve(self, n_bytes: int) -> None:
        if not self._budget.take(n_bytes, must=False):
            limit_mib = self._budget.limit_bytes >> 20
            message = (
                f"answers in one piece take all of gateway.audio_budget_mib ({limit_mib} MiB); stream it, or try later"
            )
            raise RequestFailed(Code.TOO_MANY_REQUESTS, message, retry_after_s=10.0)
        self._n_reserved += n_bytes


def pieces(pcm: Iterator[Int16], first: int, others: int) -> Iterator[Int16]:
    """Cut PCM into pieces of `first` and then `others` samples; the last one is shorter."""
    wanted = first
    held: list[Int16] = []
    n_held = 0
    for part in pcm:
        held.append(part)
        n_held += len(part)
        if n_held < wanted:
            continue
        joined = np.concatenate(held)
        start = 0
        while len(joined) - start >= wanted:
            yield joined[start : start + wanted]
            start, wanted = start + wanted, others
        held, n_held = [joined[start:]], len(joined) - start
    if n_held:
        yield np.concatenate(held)


class StreamedBody:
    """The body of a streamed answer, as WSGI iterates it.

    Construct it, then call `begin`, which returns once the first audio exists, so that a failure before that still is
    an answer with its own status. A failure after that breaks the connection off: the client must see that it has not
    got everything. `finish` is called exactly once with the outcome.
    """

    def __init__(self, pcm: Iterator[Int16], encoder: Encoder, finish: Finish, first_s: float, others_s: float) -> None:
        self._pieces = pieces(pcm, round(first_s * encoder.rate_hz), round(others_s * encoder.rate_hz))
        self._encoder = encoder
        self._finish = finish
        self._bytes = self._encoded()
        self._first: bytes | None = None

    def begin(self) -> None:
        """Wait for the first bytes of audio. RequestFailed or ClientGone."""
        self._first = self._encoder.begin(None) + next(self._bytes, b"")

    def __iter__(self) -> StreamedBody:
        return self

    def __next__(self) -> bytes:
        if self._first is not None:
            first, self._first = self._first, None
            return first
        try:
            return next(self._bytes)
        except StopIteration:
            self._end("complete")
            raise
        except ClientGone:
            self._end("client_gone")
            raise ConnectionResetError(errno.ECONNRESET, "client gone") from None
        except RequestFailed as error:
            # What is wrong with a request may quote its text, which is not for the log.
            logger.error("a stream breaks off: %s", error.message if error.code.status >= 500 else error.code)
            self._end(error.code)
            if told := self._encoder.failure(error):
                return told
            # gunicorn closes the connection without the chunk that would mark the end of the body.
            raise ConnectionResetError(errno.ECONNRESET, "the stream cannot go on") from error
        except Exception:
            self._end(Code.INTERNAL)
            raise

    def close(self) -> None:
        """WSGI calls this when the answer is over, also when its client has gone."""
        self._end("client_gone")

    def _end(self, outcome: str) -> None:
        finish, self._finish = self._finish, lambda outcome: None
        finish(outcome)

    def _encoded(self) -> Iterator[bytes]:
        for piece in self._pieces:
            if data := self._encoder.encode(piece):
                yield data
        if data := self._encoder.end():
            yield data
