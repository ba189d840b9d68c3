"""A fake dispatcher in a short-lived directory, and gateway clients that are closed again."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.fake_dispatcher import FakeDispatcher
from tts_service.gateway import client as client_module
from tts_service.gateway.client import DispatcherClient

Connect = Callable[..., DispatcherClient]


@pytest.fixture
def dispatcher(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDispatcher]:
    """A dispatcher that has not been started; clients greet and beat so often that nobody waits for them."""
    monkeypatch.setattr(client_module, "HEARTBEAT_S", 0.02)
    with tempfile.TemporaryDirectory(prefix="tts-") as directory:
        fake = FakeDispatcher(Path(directory))
        yield fake
        fake.close()


@pytest.fixture
def connect(dispatcher: FakeDispatcher) -> Iterator[Connect]:
    """Return a function that starts a client."""
    clients: list[DispatcherClient] = []

    def start(
        reconnect_timeout_s: float = 60.0, on_refused: Callable[[str], None] = lambda message: None, **more: Any
    ) -> DispatcherClient:
        client = DispatcherClient(dispatcher.endpoint, reconnect_timeout_s, on_refused, **more)
        clients.append(client)
        client.start()
        return client

    yield start
    for client in clients:
        client.close()


@pytest.fixture
def client(dispatcher: FakeDispatcher, connect: Connect) -> DispatcherClient:
    """A client that is connected to the dispatcher."""
    dispatcher.start()
    started = connect()
    dispatcher.until(lambda: started.connected and started.pools, "the client's connection")
    return started
