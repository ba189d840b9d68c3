"""The WebSocket routes: handshake, admission, and how a connection leaves gunicorn's hands. On request threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from flask import Flask, Response, g, request

from tts_service.errors import Code, RequestFailed
from tts_service.gateway.answers import REQUEST_ID
from tts_service.gateway.connection import Connection
from tts_service.gateway.speaking import Speaker, client_of
from tts_service.gateway.stream_input import StreamInput
from tts_service.gateway.stream_messages import body_of, read_query
from tts_service.gateway.websocket import WebSocket


class _Taken(Response):
    """Stands for what has been said already. gunicorn takes StopIteration for: close the connection, say nothing."""

    def __call__(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        self.close()
        raise StopIteration


def add_stream_input(app: Flask, speaker: Speaker) -> None:
    """Add both routes, and what plain HTTP requests for them are told."""
    for name, several in (("stream-input", False), ("multi-stream-input", True)):
        path = f"/v1/text-to-speech/<voice>/{name}"
        endpoint = name.replace("-", "_")
        app.add_url_rule(path, endpoint, _handler(speaker, several), websocket=True)
        app.add_url_rule(path, f"{endpoint}_without_websocket", _refuse, websocket=False)


def _refuse(voice: str) -> Response:
    raise RequestFailed(
        Code.INVALID_REQUEST, "this route is a WebSocket: expected Connection: Upgrade, Upgrade: websocket"
    )


def _handler(speaker: Speaker, several: bool) -> Callable[[str], Response]:
    def handle(voice: str) -> Response:
        speaker.admission.enter()
        try:
            return _speak(speaker, voice, several)
        finally:
            speaker.admission.leave()

    return handle


def _speak(speaker: Speaker, voice: str, several: bool) -> Response:
    query = read_query(request.args)
    # What cannot be is refused before there is a WebSocket.
    speaker.resolve(body_of(query, voice, None), client_of(request))
    websocket = WebSocket(request, speaker.settings.max_body_bytes)
    Connection(request.environ).limit_sends(speaker.settings.send_timeout_s)
    websocket.accept({REQUEST_ID: g.request_id})
    route = g.tally.route
    session = StreamInput(websocket, speaker, query, voice, client_of(request), g.request_id, route, several=several)
    session.run()
    g.tally.outcome = session.outcome
    return _Taken(status=101)
