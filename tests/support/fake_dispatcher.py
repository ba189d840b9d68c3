"""A dispatcher on a real ROUTER socket that its test moves: it hears and answers only while one of its waits runs.

So it is silent whenever its test wants it to be, can forget its gateways, end, come back as another, and send anything.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import zmq

from support.pools import pool
from tts_service.gateway.channel import Channel, Event
from tts_service.protocol import (
    FROM_GATEWAY,
    Alive,
    Beat,
    Catalogue,
    FromGateway,
    Hello,
    Introduce,
    PoolInfo,
    Refused,
    ToGateway,
    Welcome,
    decode,
    encode,
)

WAIT_S = 10.0

T = TypeVar("T", bound=FromGateway)


class FakeDispatcher:
    """Greets gateways and answers their heartbeats; everything else it only notes."""

    def __init__(self, directory: Path) -> None:
        self.endpoint = f"ipc://{directory / 'gateways.sock'}"
        self.incarnation = "life-1"
        self.pools: list[PoolInfo] = [pool()]
        self.draining = False
        self.closed = False
        self.refusal = ""
        self.greets = True
        """False: a Hello is heard, but not answered."""
        self.hellos: list[Hello] = []
        self.beats: list[Alive] = []
        self.heard: list[FromGateway] = []
        """All but hellos and heartbeats."""
        self._known: set[bytes] = set()
        self._last = b""
        self._context = zmq.Context()
        self._socket: zmq.Socket[bytes] | None = None

    def start(self, incarnation: str = "life-1") -> None:
        """Begin a life."""
        self.incarnation = incarnation
        self._known.clear()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.linger = 0
        self._socket.bind(self.endpoint)

    def end(self) -> None:
        """End as a killed process does: what it has not read is lost."""
        assert self._socket is not None
        self._socket.close()
        self._socket = None

    def forget(self) -> None:
        """Know no gateway any more, in the same life."""
        self._known.clear()

    def close(self) -> None:
        """Free the sockets."""
        self._context.destroy(linger=0)

    # Moving

    def pump(self, timeout_s: float = 0.01) -> None:
        """Hear and answer what has come, or comes within the time."""
        if self._socket is None:
            time.sleep(timeout_s)
            return
        timeout_ms = int(timeout_s * 1000)
        while self._socket.poll(timeout_ms):
            identity, frame = self._socket.recv_multipart()
            self._last = identity
            self._handle(identity, decode(FROM_GATEWAY, frame))
            timeout_ms = 0

    def until(self, condition: Callable[[], Any], what: str) -> None:
        """Hear and answer until `condition` is true; AssertionError where that takes too long."""
        deadline = time.monotonic() + WAIT_S
        while not condition():
            assert time.monotonic() < deadline, f"{what} did not happen; heard: {self.heard}"
            self.pump()

    def expect(self, kind: type[T], n: int = 1) -> list[T]:
        """Return the first `n` messages of a kind, waiting for them."""
        self.until(lambda: len(self.all_of(kind)) >= n, f"{n} × {kind.__name__}")
        return self.all_of(kind)[:n]

    def all_of(self, kind: type[T]) -> list[T]:
        """Return the messages of a kind that have been heard."""
        return [message for message in self.heard if isinstance(message, kind)]

    def next_event(self, channel: Channel) -> Event:
        """Return the next event that a channel hears, waiting for it."""
        events: list[Event] = []

        def receive() -> bool:
            if (event := channel.receive(0.0)) is not None:
                events.append(event)
            return bool(events)

        self.until(receive, "an event")
        return events[0]

    # Speaking

    def send(self, message: ToGateway, samples: bytes | None = None) -> None:
        """Send to the gateway that was heard last."""
        self.send_raw(encode(message), *([samples] if samples is not None else []))

    def send_raw(self, *frames: bytes) -> None:
        """Send frames, whatever they are."""
        assert self._socket is not None
        self._socket.send_multipart([self._last, *frames])

    def announce(self) -> None:
        """Send the catalogue."""
        self.send(Catalogue(self.pools, warm=True, draining=self.draining, closed=self.closed))

    def _handle(self, identity: bytes, message: FromGateway) -> None:
        if isinstance(message, Hello):
            self.hellos.append(message)
            if self.refusal:
                self.send(Refused("9.9", self.refusal))
            elif self.greets:
                self._known.add(identity)
                self.send(Welcome(self.incarnation))
                self.announce()
        elif identity not in self._known:
            self.heard.append(message)
            self.send(Introduce())
        elif isinstance(message, Alive):
            self.beats.append(message)
            self.send(Beat(self.incarnation))
        else:
            self.heard.append(message)
