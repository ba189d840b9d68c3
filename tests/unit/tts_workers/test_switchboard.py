"""The dispatcher's two sockets, with real peers on the other side."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq

from support.pools import job
from support.service import wait_until
from tts_service.protocol import (
    TO_GATEWAY,
    TO_WORKER,
    Alive,
    Assign,
    Bye,
    Chunk,
    Credit,
    Done,
    FromGateway,
    Welcome,
    decode,
    encode,
)
from tts_service.runtime_dir import RuntimeDir
from tts_workers.switchboard import BATCH, Switchboard

TIMEOUT_S = 10.0
KEY = job().key


class Ends:
    """A switchboard, and the peers that a test connects to it."""

    def __init__(self, runtime_dir: RuntimeDir) -> None:
        self.runtime_dir = runtime_dir
        self.gone: list[bytes] = []
        self.board = Switchboard(runtime_dir, self.gone.append)
        self.context = zmq.Context()

    def connect(self, endpoint: str, identity: bytes, **options: Any) -> zmq.Socket[bytes]:
        socket: zmq.Socket[bytes] = self.context.socket(zmq.DEALER)
        socket.linger = 0
        socket.identity = identity
        for name, value in options.items():
            setattr(socket, name, value)
        socket.connect(endpoint)
        return socket

    def gateway(self, identity: bytes, **options: Any) -> zmq.Socket[bytes]:
        """Connect a gateway, and wait until the switchboard has heard it."""
        socket = self.connect(self.runtime_dir.gateway_endpoint, identity, **options)
        socket.send(encode(Alive()))
        self.from_gateways(1)
        return socket

    def worker(self, identity: bytes) -> zmq.Socket[bytes]:
        """Connect a worker, and wait until the switchboard has heard it."""
        socket = self.connect(self.runtime_dir.worker_endpoint, identity)
        socket.send(encode(Credit(1)))
        wait_until(lambda: list(self.board.from_workers()), TIMEOUT_S, "the worker's first message")
        return socket

    def from_gateways(self, n: int) -> list[tuple[bytes, FromGateway]]:
        """Return the next `n` messages."""
        found: list[tuple[bytes, FromGateway]] = []

        def enough() -> bool:
            found.extend(self.board.from_gateways())
            return len(found) >= n

        wait_until(enough, TIMEOUT_S, f"{n} messages")
        assert len(found) == n
        return found


@pytest.fixture
def ends() -> Iterator[Ends]:
    # Socket paths are limited to 107 bytes, which pytest's own temporary directories come close to.
    with tempfile.TemporaryDirectory(prefix="tts-") as directory:
        ends = Ends(RuntimeDir(Path(directory)))
        ends.board.open()
        yield ends
        ends.context.destroy(linger=0)
        ends.board.close()


def receive(socket: zmq.Socket[bytes]) -> list[bytes]:
    assert socket.poll(int(TIMEOUT_S * 1000)), "nothing came"
    return socket.recv_multipart()


def test_messages_of_gateways_come_with_their_identity(ends: Ends) -> None:
    one, two = ends.gateway(b"g1"), ends.gateway(b"g2")
    one.send(encode(Bye()))
    two.send(encode(Alive()))
    assert sorted(ends.from_gateways(2), key=lambda pair: pair[0]) == [(b"g1", Bye()), (b"g2", Alive())]


def test_a_message_goes_to_its_gateway_alone(ends: Ends) -> None:
    one, two = ends.gateway(b"g1"), ends.gateway(b"g2")
    ends.board.to_gateway(b"g2", Welcome("life"), None)
    assert [decode(TO_GATEWAY, frame) for frame in receive(two)] == [Welcome("life")]
    assert one.poll(0) == 0


def test_audio_passes_through_untouched(ends: Ends) -> None:
    worker, gateway = ends.worker(b"0.1"), ends.gateway(b"g1")
    payload = bytes(range(256)) * 1000
    chunk = Chunk(KEY, "g1", 480, 64000)
    worker.send_multipart([encode(chunk), payload])
    worker.send(encode(Done(KEY, "g1", 64480, 0.5)))
    found: list[Any] = []
    wait_until(lambda: found.extend(ends.board.from_workers()) or len(found) == 2, TIMEOUT_S, "both messages")
    assert found == [(b"0.1", chunk, payload), (b"0.1", Done(KEY, "g1", 64480, 0.5), None)]
    ends.board.to_gateway(b"g1", chunk, payload)
    first, second = receive(gateway)
    assert (decode(TO_GATEWAY, first), second) == (chunk, payload)


def test_an_order_reaches_its_worker(ends: Ends) -> None:
    worker = ends.worker(b"3.2")
    ends.board.to_worker(b"3.2", Assign(job()))
    assert [decode(TO_WORKER, frame) for frame in receive(worker)] == [Assign(job())]


def test_an_order_for_a_worker_that_is_gone_is_dropped(ends: Ends) -> None:
    worker = ends.worker(b"3.1")
    ends.board.to_worker(b"3.9", Assign(job()))
    worker.close()
    ends.board.to_worker(b"3.1", Assign(job()))
    assert ends.gone == []


def test_a_gateway_that_never_was_is_reported_as_gone(ends: Ends) -> None:
    ends.board.to_gateway(b"nobody", Welcome("life"), None)
    assert ends.gone == [b"nobody"]


def test_a_gateway_that_has_closed_its_socket_is_reported_as_gone(ends: Ends) -> None:
    ends.gateway(b"g1").close()

    def is_reported() -> bool:
        ends.board.to_gateway(b"g1", Welcome("life"), None)
        return bool(ends.gone)

    # What is sent before the kernel's news of the closed connection comes is lost without a word.
    wait_until(is_reported, TIMEOUT_S, "the report")
    assert set(ends.gone) == {b"g1"}


def test_a_gateway_that_takes_nothing_is_reported_as_gone_and_blocks_nobody(ends: Ends) -> None:
    stuck, other = ends.gateway(b"stuck", rcvhwm=1, rcvbuf=4096), ends.gateway(b"other")
    payload = bytes(20_000)
    n_sent = 0
    while not ends.gone:
        ends.board.to_gateway(b"stuck", Chunk(KEY, "g1", 0, 5000), payload)
        n_sent += 1
        assert n_sent < 20_000, "the queue has no bound"
    ends.board.to_gateway(b"other", Welcome("life"), None)
    assert [decode(TO_GATEWAY, frame) for frame in receive(other)] == [Welcome("life")]
    assert ends.gone == [b"stuck"]
    stuck.close()


@pytest.mark.parametrize(
    "frames",
    [
        [b""],
        [b"garbage"],
        [b"\xc1" * 100],
        [encode(Credit(1))],
        [encode(Alive())[:-1]],
        [b"\x82\xa4type\xa5Alive"],
        [b"\xdd\xff\xff\xff\xff"],
    ],
    ids=["empty", "text", "never used byte", "a worker's message", "cut short", "cut shorter", "a huge array"],
)
def test_garbage_is_logged_and_ignored(ends: Ends, caplog: pytest.LogCaptureFixture, frames: list[bytes]) -> None:
    gateway = ends.gateway(b"g1")
    gateway.send_multipart(frames)
    gateway.send(encode(Bye()))
    assert ends.from_gateways(1) == [(b"g1", Bye())]
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "g1" in caplog.text


def test_a_workers_garbage_is_logged_and_ignored(ends: Ends, caplog: pytest.LogCaptureFixture) -> None:
    worker = ends.worker(b"0.1")
    worker.send_multipart([b"garbage", b"audio"])
    worker.send(encode(Credit(2)))
    found: list[Any] = []
    wait_until(lambda: found.extend(ends.board.from_workers()) or found, TIMEOUT_S, "the message after")
    assert found == [(b"0.1", Credit(2), None)]
    assert "0.1" in caplog.text


def test_a_flood_from_one_side_is_taken_in_batches(ends: Ends) -> None:
    gateway = ends.gateway(b"g1")
    for _ in range(BATCH + 50):
        gateway.send(encode(Alive()))
    # All of it is there once the last message can be seen; until then batches may be shorter.
    found = len(list(ends.board.from_gateways()))
    assert found <= BATCH
    assert len(ends.from_gateways(BATCH + 50 - found)) == BATCH + 50 - found


def test_closing_delivers_what_is_pending(ends: Ends) -> None:
    gateway = ends.gateway(b"g1")
    for n in range(100):
        ends.board.to_gateway(b"g1", Welcome(str(n)), None)
    ends.board.close()
    assert [decode(TO_GATEWAY, receive(gateway)[0]) for _ in range(100)] == [Welcome(str(n)) for n in range(100)]
