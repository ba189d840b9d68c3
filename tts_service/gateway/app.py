"""The Flask application: routes, errors as JSON, request ids. Handlers run on gunicorn's request threads."""

from __future__ import annotations

import logging
import time
from typing import Any

from flask import Flask, Response, g, request
from werkzeug.exceptions import HTTPException

from tts_service import __version__
from tts_service.errors import Code, RequestFailed
from tts_service.gateway.admission import Admission
from tts_service.gateway.answers import REQUEST_ID, error_answer, failure_answer, json_answer, request_id
from tts_service.gateway.client import DispatcherClient
from tts_service.gateway.raw_body import discard
from tts_service.gateway.result_cache import ResultCache
from tts_service.gateway.speaking import Speaker
from tts_service.gateway.tally import Tally
from tts_service.protocol import PoolInfo
from tts_service.settings import GatewaySettings

logger = logging.getLogger(__name__)

# The text format of prometheus_client.generate_latest.
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_HTTP_CODES = {
    404: Code.NOT_FOUND,
    405: Code.METHOD_NOT_ALLOWED,
    413: Code.BODY_TOO_LARGE,
    415: Code.UNSUPPORTED_MEDIA_TYPE,
}


def make_app(
    settings: GatewaySettings, client: DispatcherClient, admission: Admission, cache: ResultCache | None = None
) -> Flask:
    """Return the application; `client` is started by the caller."""
    app = Flask("tts_service", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = settings.max_body_bytes
    speaker = Speaker(settings, client, admission, cache)
    _add_speech(app, speaker, client)
    _add_catalogue(app, client)
    _add_operations(app, client)
    _add_errors(app, settings)
    return app


def _add_speech(app: Flask, speaker: Speaker, client: DispatcherClient) -> None:
    @app.before_request
    def identify() -> None:
        g.request_id = request_id(request.headers.get(REQUEST_ID))
        # The rule and not the path: paths are endless.
        g.tally = Tally(request.url_rule.rule if request.url_rule else "other")

    @app.after_request
    def mark(answer: Response) -> Response:
        tally = g.tally
        # A client that still sends when its connection is closed sees a reset, and not its answer.
        discard(request.environ)
        answer.headers[REQUEST_ID] = g.request_id
        answer.call_on_close(lambda: client.report(tally.report(answer)))
        return answer

    @app.post("/v1/audio/speech")
    def speech() -> Response:
        return speaker.answer(request, g.request_id, g.tally)


def _add_catalogue(app: Flask, client: DispatcherClient) -> None:
    started = int(time.time())

    def model(pool: PoolInfo) -> dict[str, Any]:
        return {
            "id": pool.name,
            "object": "model",
            "created": started,
            "owned_by": "tts-service",
            "engine": pool.engine.name,
            "sample_rate": pool.engine.sample_rate_hz,
            "default_voice": pool.default_voice,
            "speed": {"min": pool.engine.min_speed, "max": pool.engine.max_speed},
            "notes": {voice.id: voice.note for voice in pool.engine.voices if voice.note},
        }

    @app.get("/v1/models")
    def models() -> Response:
        return json_answer({"object": "list", "data": [model(pool) for pool in client.pools.values()]})

    @app.get("/v1/models/<name>")
    def one_model(name: str) -> Response:
        if name not in client.pools:
            raise RequestFailed(Code.MODEL_NOT_FOUND, "there is no such model", param="model")
        return json_answer(model(client.pools[name]))

    @app.get("/v1/audio/models")
    def audio_models() -> Response:
        return json_answer({"models": [model(pool) for pool in client.pools.values()]})

    @app.get("/v1/audio/voices")
    def voices() -> Response:
        found = [
            {
                "id": voice.id,
                "name": voice.name,
                "language": voice.languages[0] if voice.languages else None,
                "languages": voice.languages,
                "engine": pool.engine.name,
                "model": pool.name,
                "sample_rate": pool.engine.sample_rate_hz,
                "note": voice.note,
            }
            for pool in client.pools.values()
            for voice in pool.engine.voices
        ]
        return json_answer({"voices": found})


def _add_operations(app: Flask, client: DispatcherClient) -> None:
    @app.get("/health")
    def health() -> Response:
        return json_answer({"status": "ok", "version": __version__})

    @app.get("/ready")
    def ready() -> Response:
        reason = why_not_ready(client)
        if reason:
            raise RequestFailed(Code.NOT_READY, reason, retry_after_s=1.0)
        return json_answer({"status": "ready"})

    @app.get("/workers")
    def workers() -> Response:
        status = client.status()
        return json_answer(
            {
                "workers": status.workers,
                "pools": status.pools,
                "dispatcher": {"pid": status.pid, "closed": status.closed, "requests": status.n_requests},
            }
        )

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


def _add_errors(app: Flask, settings: GatewaySettings) -> None:
    @app.errorhandler(RequestFailed)
    def failed(error: RequestFailed) -> Response:
        if not g.tally.outcome:
            # Refused on the way in; a request that got further has had its line.
            g.tally.outcome = error.code
            logger.info("request id=%s outcome=%s route=%s", g.request_id, error.code, g.tally.route)
        return failure_answer(error)

    @app.errorhandler(HTTPException)
    def http_error(error: HTTPException) -> Response:
        status = error.code or 500
        message = error.description or error.name
        if status == 413:
            message = f"the body is longer than {settings.max_body_bytes} bytes"
        code = _HTTP_CODES.get(status, Code.INVALID_REQUEST)
        g.tally.outcome = code
        answer = error_answer(message, code, status)
        for name, value in error.get_headers(request.environ):
            if name.lower() == "allow":
                answer.headers[name] = value
        return answer

    @app.errorhandler(Exception)
    def unexpected(error: Exception) -> Response:
        logger.exception("request %s: unexpected error", g.get("request_id", "-"))
        return error_answer("an unexpected error; the server's log says more", Code.INTERNAL, 500)
