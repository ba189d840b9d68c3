"""What a client of any API of a speech server is, and what it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import msgspec


class SpeechFailed(Exception):
    """A request got no whole answer; the text says what came instead."""


class Wanted(msgspec.Struct, frozen=True):
    """What every request asks for, besides its text; "" leaves it to the server."""

    response_format: str = "pcm"
    streamed: bool = True
    voice: str = ""
    model: str = ""
    fields: dict[str, Any] = {}
    """More fields of the body of an OpenAI-style request."""


class Speaker(Protocol):
    """A connection to a server, made when it is first used. Belongs to one thread."""

    def speak(self, text: str) -> Iterator[float]:
        """Yield the seconds of each piece of audio as it comes; 0 for pieces of a format that is not counted.

        SpeechFailed, Unavailable, OSError or http.client.HTTPException where no whole answer comes.
        """

    def close(self) -> None:
        """Close the connection."""
