"""Who may ask for what: API keys, their limits, and pages of other origins. Runs on the request's thread."""

from __future__ import annotations

from flask import Flask, Request, Response, g, request
from flask_cors import CORS

from tts_service.errors import Code, RequestFailed
from tts_service.gateway.answers import REQUEST_ID
from tts_service.gateway.api_keys import KeyRing
from tts_service.gateway.rate_limits import RateLimits
from tts_service.settings import GatewaySettings

# What tells whether the service works, to probes that know no key.
HEALTH = frozenset({"/health", "/ready"})
# Open WebUI asks for these without its key.
LISTS = frozenset({"/v1/models", "/v1/models/<name>", "/v1/audio/models", "/v1/audio/voices", "/openapi.json", "/docs"})
# What needs a key, but counts against no limit.
OPERATIONS = frozenset({"/workers", "/metrics"})
# What a page's script may read of an answer, beyond what it always may.
EXPOSED = [
    *(REQUEST_ID, "X-Seed", "X-Sample-Rate", "X-Voice", "X-Ignored", "X-Cache", "Server-Timing", "Retry-After"),
    *("Content-Disposition", "Content-Range", "ETag"),
]
PREFLIGHT_S = 600
CHALLENGE = "Authorization: Bearer KEY, or xi-api-key: KEY"


def guard(app: Flask, settings: GatewaySettings, keys: KeyRing) -> None:
    """Let `app` answer only to those who may ask. Requests must have got their id before."""
    _allow_origins(app, settings.cors_origins)
    limits = RateLimits()
    free = HEALTH | LISTS if settings.keyless_lists else HEALTH

    @app.before_request
    def check_key() -> None:
        g.key_owner = None
        rule = request.url_rule.rule if request.url_rule else ""
        reads = request.method in ("GET", "HEAD")
        # What does not exist is not there for anybody; and preflights come without a key.
        if not keys.is_asked_for or not rule or request.method == "OPTIONS" or (reads and rule in free):
            return
        key = presented_key(request)
        owner = keys.find(key) if key else None
        if owner is None:
            what = "this API key is not known" if key else "an API key is missing"
            raise RequestFailed(Code.INVALID_API_KEY, f"{what}: expected the header {CHALLENGE}")
        g.key_owner = owner
        if rule not in HEALTH | LISTS | OPERATIONS:
            limits.enter(owner)
            g.counted = owner

    @app.after_request
    def count_out(answer: Response) -> Response:
        if (owner := g.pop("counted", None)) is not None:
            answer.call_on_close(lambda: limits.leave(owner))
        return answer


def presented_key(request: Request) -> str:
    """Return the key that a request came with, "" for none: SillyTavern sends an empty Bearer when it has no key."""
    scheme, _, token = request.headers.get("Authorization", "").strip().partition(" ")
    bearer = token.strip() if scheme.lower() == "bearer" else ""
    return bearer or request.headers.get("xi-api-key", "").strip()


def key_name() -> str:
    """Return the name of the present request's key, "" where it needs none."""
    owner = g.get("key_owner")
    return owner.name if owner is not None else ""


def _allow_origins(app: Flask, origins: str) -> None:
    if origins:
        CORS(app, origins=origins.split(), expose_headers=EXPOSED, max_age=PREFLIGHT_S, send_wildcard=origins == "*")
