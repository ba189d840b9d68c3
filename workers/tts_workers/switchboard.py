"""The two ROUTER sockets of the `tts-workers` process. Owned by its one thread."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import zmq

from tts_service.errors import ProtocolError
from tts_service.protocol import (
    FROM_GATEWAY,
    FROM_WORKER,
    Chunk,
    FromGateway,
    FromWorker,
    ToGateway,
    ToWorker,
    decode,
    encode,
)
from tts_service.runtime_dir import RuntimeDir

logger = logging.getLogger(__name__)

# Messages taken from one socket before the other gets its turn.
BATCH = 200


class Switchboard:
    """Receives and sends; knows nothing of what messages mean."""

    def __init__(self, runtime_dir: RuntimeDir, gateway_gone: Callable[[bytes], None]) -> None:
        self._runtime_dir = runtime_dir
        self._gateway_gone = gateway_gone
        self._context = zmq.Context(io_threads=1)
        self.gateways = self._router()
        self.workers = self._router()

    def _router(self) -> zmq.Socket[bytes]:
        socket = self._context.socket(zmq.ROUTER)
        # Sends to a peer that is gone raise EHOSTUNREACH, and to one that takes nothing EAGAIN, instead of vanishing.
        socket.router_mandatory = True
        socket.linger = 1000
        return socket

    def open(self) -> None:
        """Bind both sockets. The caller holds the lock of the runtime directory."""
        # What a worker sends is bounded by its slots; a gateway that takes nothing is found by its full queue.
        self.workers.rcvhwm = 0
        self.gateways.sndhwm = 5000
        self.workers.bind(self._runtime_dir.worker_endpoint)
        self.gateways.bind(self._runtime_dir.gateway_endpoint)

    def from_gateways(self) -> Iterator[tuple[bytes, FromGateway]]:
        """Yield the messages that wait: identity and message."""
        for frames in _waiting(self.gateways):
            try:
                yield frames[0], decode(FROM_GATEWAY, frames[1])
            except ProtocolError as error:
                logger.error("ignored a message of gateway %r: %s", frames[0], error)

    def from_workers(self) -> Iterator[tuple[bytes, FromWorker, bytes | None]]:
        """Yield the messages that wait: identity, message, and the samples of a Chunk, which are in the next frame."""
        for identity, *frames in _waiting(self.workers):
            rest = iter(frames)
            try:
                for frame in rest:
                    message = decode(FROM_WORKER, frame)
                    yield identity, message, next(rest, b"") if isinstance(message, Chunk) else None
            except ProtocolError as error:
                logger.error("ignored a message of worker %r: %s", identity, error)

    def to_gateway(self, identity: bytes, message: ToGateway, samples: bytes | None) -> None:
        """Send; a gateway that cannot be reached is reported as gone."""
        frames = [identity, encode(message)] + ([samples] if samples is not None else [])
        try:
            self.gateways.send_multipart(frames, zmq.NOBLOCK)
        except (zmq.Again, zmq.ZMQError) as error:
            logger.warning("gateway %r cannot be reached: %s", identity, error)
            self._gateway_gone(identity)

    def to_worker(self, identity: bytes, message: ToWorker) -> None:
        """Send; a worker that cannot be reached is dying, which its supervisor hears of on its own."""
        try:
            self.workers.send_multipart([identity, encode(message)], zmq.NOBLOCK)
        except (zmq.Again, zmq.ZMQError) as error:
            logger.debug("worker %r cannot be reached: %s", identity, error)

    def close(self) -> None:
        """Send what is pending, for a second at most, and close."""
        self._context.destroy(linger=1000)


def _waiting(socket: zmq.Socket[bytes]) -> Iterator[list[bytes]]:
    for _ in range(BATCH):
        # Asking first is cheaper than the exception of a receive that finds nothing.
        if not int(socket.get(zmq.EVENTS)) & zmq.POLLIN:
            return
        frames = socket.recv_multipart(zmq.NOBLOCK)
        if len(frames) >= 2:
            yield frames
