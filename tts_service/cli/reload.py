"""`tts-service reload`: has a running workers' half take new voices and settings, and waits until it has."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import click

from tts_service.cli.options import read_settings, runtime_dir_of, settings_flags
from tts_service.errors import ProcessMustEnd, RequestFailed, Unavailable

POLL_S = 0.1
CONNECT_TIMEOUT_S = 5.0


@click.command("reload")
@settings_flags("runtime")
@click.option("--timeout", type=float, default=600.0, show_default=True, help="Longest wait, in seconds.")
def command(config: Path | None, timeout: float, **flags: Any) -> None:
    """Replace the workers one by one with fresh ones that read settings and model files again, while they serve."""
    from tts_service.gateway.client import DispatcherClient

    runtime_dir = runtime_dir_of(read_settings(config, **flags))
    client = DispatcherClient(runtime_dir.gateway_endpoint, CONNECT_TIMEOUT_S, lambda message: None)
    client.start()
    try:
        _wait_connected(client, f"no service answers in {runtime_dir.path}")
        before = client.status()
        try:
            os.kill(before.pid, signal.SIGHUP)
        except OSError as error:
            raise Unavailable(f"cannot signal the workers' half, pid {before.pid}: {error.strerror}") from error
        _wait_ended(client, before, timeout)
    except RequestFailed as error:
        raise Unavailable(error.message) from error
    finally:
        client.close()
    click.echo("all workers have been replaced")


def _wait_connected(client: Any, complaint: str) -> None:
    deadline = time.monotonic() + CONNECT_TIMEOUT_S
    while not client.connected:
        if client.refused:
            raise Unavailable(client.refused)
        if time.monotonic() > deadline:
            raise Unavailable(complaint)
        time.sleep(POLL_S)


def _wait_ended(client: Any, before: Any, timeout_s: float) -> None:
    """Wait for the end of the reload. ProcessMustEnd where it was not done."""
    deadline = time.monotonic() + timeout_s
    while True:
        status = client.status()
        if status.incarnation != before.incarnation:
            # It was restarted meanwhile, and has read everything again.
            return
        if status.n_reloads > before.n_reloads and not status.reloading:
            break
        if time.monotonic() > deadline:
            raise Unavailable(f"workers are still being replaced after {timeout_s:g} s")
        time.sleep(POLL_S)
    if status.reload_failure:
        raise ProcessMustEnd(status.reload_failure)
