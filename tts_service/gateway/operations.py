"""The routes for those who run the service: is it alive, is it ready, what do its workers do."""

from __future__ import annotations

from typing import Literal

import msgspec
from flask import Flask, Response

from tts_service import __version__
from tts_service.errors import Code, RequestFailed
from tts_service.gateway.answers import json_answer
from tts_service.gateway.client import DispatcherClient
from tts_service.protocol import PoolStatus, WorkerStatus

# The text format of prometheus_client.generate_latest.
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Health(msgspec.Struct, frozen=True):
    """The gateway lives."""

    version: str
    status: Literal["ok"] = "ok"


class Readiness(msgspec.Struct, frozen=True):
    """Requests will be served."""

    status: Literal["ready"] = "ready"


class DispatcherState(msgspec.Struct, frozen=True):
    """The process between gateway and workers."""

    pid: int
    closed: bool
    """By `tts-service drain`."""
    requests: int
    """In progress."""


class WorkersAnswer(msgspec.Struct, frozen=True):
    """Every worker, every pool's queue, and the dispatcher."""

    workers: list[WorkerStatus]
    pools: list[PoolStatus]
    dispatcher: DispatcherState


def add_operations(app: Flask, client: DispatcherClient) -> None:
    """Give `app` these routes."""

    @app.get("/health")
    def health() -> Response:
        return json_answer(Health(__version__))

    @app.get("/ready")
    def ready() -> Response:
        reason = why_not_ready(client)
        if reason:
            raise RequestFailed(Code.NOT_READY, reason, retry_after_s=1.0)
        return json_answer(Readiness())

    @app.get("/workers")
    def workers() -> Response:
        status = client.status()
        dispatcher = DispatcherState(status.pid, status.closed, status.n_requests)
        return json_answer(WorkersAnswer(status.workers, status.pools, dispatcher))

    @app.get("/metrics")
    def metrics() -> Response:
        return Response(client.metrics(), content_type=METRICS_TYPE)


def why_not_ready(client: DispatcherClient) -> str:
    """Return why new requests should go elsewhere, "" when they should not.

    Not before every worker has been warm once; afterwards while some pool has no warm worker.
    """
    catalogue = client.catalogue
    if client.refused:
        return client.refused
    if catalogue is None or not client.connected:
        return "the workers' half does not answer"
    if catalogue.draining or catalogue.closed:
        return "the service takes no new requests"
    if not catalogue.warm:
        return "not all workers have been warm yet"
    idle = [pool.name for pool in catalogue.pools if pool.n_ready == 0]
    return f"no worker is warm in: {', '.join(idle)}" if idle else ""
