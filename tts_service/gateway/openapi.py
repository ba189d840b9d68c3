"""The OpenAPI description, from the routes that there are and the types that read and write their bodies. Pure."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec
from flask import Flask
from werkzeug.routing import Rule

from tts_service import __version__
from tts_service.gateway.access import HEALTH, LISTS, OPERATIONS
from tts_service.gateway.answers import ErrorBody
from tts_service.gateway.body import SpeechBody
from tts_service.gateway.catalogue import AudioModelList, Model, ModelList, VoiceList
from tts_service.gateway.encoders import SpeechWithWords
from tts_service.gateway.operations import Health, Readiness, WorkersAnswer
from tts_service.gateway.query import MAX_LINK_CHARS
from tts_service.settings import GatewaySettings

Schema = dict[str, Any]

SPEECH = "/v1/audio/speech"
_TYPES = (
    SpeechBody,
    SpeechWithWords,
    ErrorBody,
    ModelList,
    AudioModelList,
    Model,
    VoiceList,
    Health,
    Readiness,
    WorkersAnswer,
)
_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
_ERRORS = {
    400: "Something is wrong with the request; `param` names the field.",
    401: "An API key is missing, or is not known.",
    404: "There is no such model.",
    405: "The route has other methods; `Allow` names them.",
    408: "The request did not come in time.",
    413: "The body is too long.",
    414: "The URL is too long; longer texts go by POST.",
    415: "The body says that it is something else than JSON.",
    416: "The audio ends before the part that is asked for; `Content-Range` has its length.",
    429: "The API key has had its requests.",
    500: "A failure of the service.",
    503: "To be tried again, after `Retry-After` seconds.",
    504: "The audio was not ready in time.",
}


class _Route(NamedTuple):
    """What a route's own code does not say about it."""

    summary: str
    tag: str
    answer: type[msgspec.Struct] | None = None
    errors: tuple[int, ...] = ()
    reads_speech: bool = False
    """Its POST has the body of a speech request."""


_ROUTES = {
    SPEECH: _Route("Text to speech", "Speech", None, (400, 404, 408, 413, 415, 500, 503, 504), True),
    "/v1/audio/text": _Route(
        "What would be said, and why", "Speech", None, (400, 404, 408, 413, 415, 500, 503), reads_speech=True
    ),
    "/v1/models": _Route("The models (pools)", "Catalogue", ModelList),
    "/v1/models/<name>": _Route("One model, by any name that a request may use", "Catalogue", Model, (404,)),
    "/v1/audio/models": _Route("The models, as Open WebUI reads them", "Catalogue", AudioModelList),
    "/v1/audio/voices": _Route("The voices", "Catalogue", VoiceList),
    "/health": _Route("200 while the gateway lives", "Operations", Health),
    "/ready": _Route("200 while requests will be served", "Operations", Readiness, (503,)),
    "/workers": _Route("What the workers do", "Operations", WorkersAnswer, (503,)),
    "/metrics": _Route("For Prometheus", "Operations", None, (503,)),
    "/v1/text-to-speech/<voice>/stream-input": _Route(
        "A WebSocket: text in pieces, in ElevenLabs' shape", "Speech", None, (400, 404, 503)
    ),
    "/v1/text-to-speech/<voice>/multi-stream-input": _Route(
        "A WebSocket: several texts in pieces, told apart by context_id", "Speech", None, (400, 404, 503)
    ),
    "/openapi.json": _Route("This description", "Documentation"),
    "/docs": _Route("This description, to read and to try", "Documentation"),
}
_OTHER_TYPES = {"/metrics": "text/plain", "/docs": "text/html", "/openapi.json": "application/json"}


def describe(app: Flask, settings: GatewaySettings, *, needs_key: bool) -> Schema:
    """Return the OpenAPI 3.1 document of every route of `app`."""
    schemas = _schemas(settings)
    paths: dict[str, Schema] = {}
    for rule in sorted(app.url_map.iter_rules(), key=lambda rule: _place(rule.rule)):
        for method in sorted((rule.methods or set()) - {"OPTIONS", "HEAD"}, reverse=True):
            path = _PARAMETER.sub(r"{\1}", rule.rule)
            paths.setdefault(path, {})[method.lower()] = _operation(rule, method, schemas, needs_key)
    free = "" if not needs_key else " Requests need an API key."
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "tts-service",
            "version": __version__,
            "description": f"Text to speech on CPUs, in the shape of OpenAI's audio API.{free}",
        },
        "paths": paths,
        "components": {"schemas": schemas, "headers": _HEADERS} | (_SECURITY if needs_key else {}),
    } | ({"security": [{"bearer": []}, {"xi-api-key": []}]} if needs_key else {})


_HEADERS: Schema = {
    "X-Request-Id": {"description": "The request's own, or a new one.", "schema": {"type": "string"}},
    "X-Voice": {"description": "The voice that spoke.", "schema": {"type": "string"}},
    "X-Seed": {"description": "The seed that was used.", "schema": {"type": "string", "pattern": r"^\d+$"}},
    "X-Sample-Rate": {"description": "Of the audio, in Hz.", "schema": {"type": "string", "pattern": r"^\d+$"}},
    "Retry-After": {"description": "Seconds.", "schema": {"type": "string", "pattern": r"^\d+$"}},
}
_SECURITY: Schema = {
    "securitySchemes": {
        "bearer": {"type": "http", "scheme": "bearer"},
        "xi-api-key": {"type": "apiKey", "in": "header", "name": "xi-api-key"},
    }
}


def _place(rule: str) -> tuple[int, str]:
    """Return where a route stands in the document: as above, those that are not above last."""
    known = list(_ROUTES)
    return (known.index(rule) if rule in known else len(known), rule)


def _schemas(settings: GatewaySettings) -> dict[str, Schema]:
    _, schemas = msgspec.json.schema_components(_TYPES, ref_template="#/components/schemas/{name}")
    found: dict[str, Schema] = schemas
    body = found["SpeechBody"]
    for name, field in body["properties"].items():
        if name not in body["required"]:
            _allow_null(field)
    body["properties"]["input"] |= {"minLength": 1, "maxLength": settings.max_text_chars}
    body["examples"] = [{"input": "Hello, world.", "response_format": "mp3"}]
    return found


def _allow_null(field: Schema) -> None:
    """Null stands for a field that is absent, in every optional one (see read_body)."""
    if "enum" in field:
        field["enum"] = [*(value for value in field["enum"] if value is not None), None]
    elif "anyOf" in field:
        if {"type": "null"} not in field["anyOf"]:
            field["anyOf"].append({"type": "null"})
    else:
        kept = {name: field.pop(name) for name in list(field) if name not in ("description", "default")}
        field["anyOf"] = [kept, {"type": "null"}]


def _operation(rule: Rule, method: str, schemas: dict[str, Schema], needs_key: bool) -> Schema:
    route = _ROUTES.get(rule.rule, _Route(f"{method} {rule.rule}", "Other"))
    # A websocket is opened by a GET that OpenAPI has no words for.
    operation: Schema = {
        "summary": route.summary,
        "tags": [route.tag],
        "operationId": f"{method.lower()}_{rule.endpoint}",
        "responses": _responses(rule.rule, method, route, needs_key),
    }
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in _PARAMETER.findall(rule.rule)
    ]
    if rule.rule == SPEECH and method == "GET":
        parameters += _query(schemas["SpeechBody"])
    if parameters:
        operation["parameters"] = parameters
    if route.reads_speech and method == "POST":
        content = {"application/json": {"schema": {"$ref": "#/components/schemas/SpeechBody"}}}
        operation["requestBody"] = {"required": True, "content": content}
    if needs_key and rule.rule in HEALTH | LISTS:
        operation["security"] = [{}]
    return operation


def _query(body: Schema) -> list[Schema]:
    """Return the fields of a speech request as parameters of a URL, where none of them is an object."""
    text = body["properties"]["input"]
    short = text | {"maxLength": min(text["maxLength"], MAX_LINK_CHARS)}
    found = []
    for name, field in (body["properties"] | {"input": short}).items():
        schema = {key: value for key, value in field.items() if key not in ("description", "default")}
        # A URL has no null, and no objects.
        if "anyOf" in schema:
            schema["anyOf"] = [part for part in schema["anyOf"] if part != {"type": "null"} and "$ref" not in part]
        if "enum" in schema:
            schema["enum"] = [value for value in schema["enum"] if value is not None]
        about = field.get("description", "")
        found.append(_parameter(name, about, schema, required=name in body["required"]))
    about = "Lets a browser save the audio instead of playing it."
    return [*found, _parameter("download", about, {"type": "boolean"}, required=False)]


def _parameter(name: str, about: str, schema: Schema, *, required: bool) -> Schema:
    return {"name": name, "in": "query", "required": required, "description": about, "schema": schema}


def _responses(rule: str, method: str, route: _Route, needs_key: bool) -> Schema:
    errors = set(route.errors)
    if needs_key and rule not in HEALTH | LISTS:
        errors |= {401} if rule in OPERATIONS else {401, 429}
    marked = {"X-Request-Id": {"$ref": "#/components/headers/X-Request-Id"}}
    found: Schema = {"200": {"description": "OK", "headers": marked, "content": _content(rule, route)}}
    if rule == SPEECH:
        found["200"]["description"] = "The audio, streamed or in one piece."
        found["200"]["headers"] |= {
            name: {"$ref": f"#/components/headers/{name}"} for name in ("X-Voice", "X-Seed", "X-Sample-Rate")
        }
        if method == "GET":
            found |= {"206": found["200"] | {"description": "A part."}, "304": {"description": "Not modified."}}
            errors |= {414, 416}
    for status in sorted(errors):
        retry = {"Retry-After": {"$ref": "#/components/headers/Retry-After"}} if status in (429, 503) else {}
        found[str(status)] = _error(_ERRORS.get(status, "Refused."), marked | retry)
    if rule not in _ROUTES:
        found["default"] = _error("An error.", marked)
    return found


def _error(description: str, headers: Schema) -> Schema:
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorBody"}}}
    return {"description": description, "headers": headers, "content": content}


def _ref(answer: type[msgspec.Struct]) -> Schema:
    return {"$ref": f"#/components/schemas/{answer.__name__}"}


def _content(rule: str, route: _Route) -> Schema:
    if route.answer is not None:
        return {"application/json": {"schema": _ref(route.answer)}}
    if rule == SPEECH:
        # Bytes have no schema in OpenAPI 3.1.
        types = ["audio/mpeg", "audio/wav", "audio/pcm", "audio/*"]
        if "stream_format" in SpeechBody.__struct_fields__:
            types += ["text/event-stream", "application/json", "text/*", "application/*"]
        return {name: {} for name in types} | {"application/json": {"schema": _ref(SpeechWithWords)}}
    return {_OTHER_TYPES.get(rule, "application/json"): {}}
