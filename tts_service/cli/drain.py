"""`tts-service drain`: takes a running service out of use without cutting anybody off."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from tts_service.cli.options import read_settings, runtime_dir_of, settings_flags
from tts_service.errors import RequestFailed, Unavailable

POLL_S = 0.2
CONNECT_TIMEOUT_S = 5.0


@click.command("drain")
@settings_flags("runtime")
@click.option("--undo", is_flag=True, help="Take the service back into use.")
@click.option("--timeout", type=float, default=600.0, show_default=True, help="Longest wait, in seconds.")
def command(config: Path | None, undo: bool, timeout: float, **flags: Any) -> None:
    """Refuse new requests (503; /ready says so), let those in progress finish, and return when none is left."""
    from tts_service.gateway.client import DispatcherClient

    runtime_dir = runtime_dir_of(read_settings(config, **flags))
    client = DispatcherClient(runtime_dir.gateway_endpoint, CONNECT_TIMEOUT_S, lambda message: None)
    client.start()
    try:
        _wait(lambda: client.connected, CONNECT_TIMEOUT_S, f"no service answers in {runtime_dir.path}")
        client.drain(closed=not undo)
        _wait(lambda: client.status().closed is not undo, CONNECT_TIMEOUT_S, "the service did not take the order")
        if undo:
            click.echo("the service takes requests again")
            return
        _wait(lambda: _is_empty(client.status()), timeout, f"requests are still in progress after {timeout:g} s")
        click.echo("the service is empty")
    except RequestFailed as error:
        raise Unavailable(error.message) from error
    finally:
        client.close()


def _is_empty(status: Any) -> bool:
    busy = any(pool.queued or pool.running for pool in status.pools)
    return not busy and status.n_requests == 0


def _wait(condition: Any, timeout_s: float, complaint: str) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise Unavailable(complaint)
        time.sleep(POLL_S)
