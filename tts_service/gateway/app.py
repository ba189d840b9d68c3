"""The Flask application: routes, errors as JSON, request ids. Handlers run on gunicorn's request threads."""

from __future__ import annotations

import logging
from collections.abc import Callable

from flask import Flask, Response, g, request
from werkzeug.exceptions import HTTPException

from tts_service.errors import Code, RequestFailed
from tts_service.gateway.access import guard, key_name
from tts_service.gateway.admission import Admission
from tts_service.gateway.answers import REQUEST_ID, error_answer, failure_answer, request_id
from tts_service.gateway.api_keys import KeyRing
from tts_service.gateway.catalogue import add_catalogue
from tts_service.gateway.client import DispatcherClient
from tts_service.gateway.documentation import add_documentation
from tts_service.gateway.downloads import Downloads
from tts_service.gateway.operations import add_operations
from tts_service.gateway.raw_body import discard
from tts_service.gateway.result_cache import ResultCache
from tts_service.gateway.speaking import Speaker
from tts_service.gateway.stream_routes import add_stream_input
from tts_service.gateway.tally import Tally
from tts_service.gateway.text_answer import answer_text
from tts_service.settings import GatewaySettings

logger = logging.getLogger(__name__)

_HTTP_CODES = {
    404: Code.NOT_FOUND,
    405: Code.METHOD_NOT_ALLOWED,
    413: Code.BODY_TOO_LARGE,
    415: Code.UNSUPPORTED_MEDIA_TYPE,
}


def make_app(
    settings: GatewaySettings,
    client: DispatcherClient,
    admission: Admission,
    keys: KeyRing | None = None,
    cache: ResultCache | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> Flask:
    """Return the application; `client` is started by the caller. Without `keys` nobody needs one.

    `stopping` says whether the process is to end.
    """
    app = Flask("tts_service", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = settings.max_body_bytes
    speaker = Speaker(settings, client, admission, cache, stopping)
    _add_identity(app, client)
    keys = keys or KeyRing("")
    guard(app, settings, keys)
    _add_speech(app, speaker)
    add_catalogue(app, client)
    add_operations(app, client)
    _add_errors(app, settings)
    add_documentation(app, settings, needs_key=keys.is_asked_for)
    return app


def _add_identity(app: Flask, client: DispatcherClient) -> None:
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


def _add_speech(app: Flask, speaker: Speaker) -> None:
    @app.post("/v1/audio/speech")
    def speech() -> Response:
        return speaker.answer(request, g.request_id, g.tally)

    @app.post("/v1/audio/text")
    def text() -> Response:
        return answer_text(speaker, request)

    downloads = Downloads(speaker)

    @app.get("/v1/audio/speech")
    def speech_link() -> Response:
        return downloads.answer(request, g.request_id, g.tally)

    add_stream_input(app, speaker)


def _add_errors(app: Flask, settings: GatewaySettings) -> None:
    @app.errorhandler(RequestFailed)
    def failed(error: RequestFailed) -> Response:
        if not g.tally.outcome:
            # Refused on the way in; a request that got further has had its line.
            g.tally.outcome = error.code
            logger.info(
                "request id=%s outcome=%s route=%s key=%s", g.request_id, error.code, g.tally.route, key_name() or "-"
            )
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
