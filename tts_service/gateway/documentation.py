"""/openapi.json and /docs: what the service can do, for programs and for people. Runs on the request's thread."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files

import msgspec
from flask import Flask, Response

from tts_service.gateway.openapi import describe
from tts_service.settings import GatewaySettings

_INLINE = re.compile(r"<(script|style)>(.*?)</\1>", re.DOTALL)


def add_documentation(app: Flask, settings: GatewaySettings, *, needs_key: bool) -> None:
    """Give `app` both routes; call it last."""

    @cache
    def document() -> bytes:
        return msgspec.json.encode(describe(app, settings, needs_key=needs_key))

    @app.get("/openapi.json")
    def openapi() -> Response:
        return Response(document(), content_type="application/json")

    @app.get("/docs")
    def docs() -> Response:
        page, policy = _page()
        return Response(page, content_type="text/html; charset=utf-8", headers={"Content-Security-Policy": policy})


@cache
def _page() -> tuple[str, str]:
    """Return the page, which loads nothing from elsewhere, and the policy that keeps it from doing so."""
    page = files("tts_service.gateway").joinpath("docs.html").read_text(encoding="utf-8")
    hashes: dict[str, list[str]] = {"script": [], "style": []}
    for kind, text in _INLINE.findall(page):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        hashes[kind].append(f"'sha256-{digest}'")
    policy = {
        "default-src": ["'none'"],
        "script-src": hashes["script"],
        "style-src": hashes["style"],
        "connect-src": ["'self'"],
        "media-src": ["blob:"],
        "img-src": ["data:"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
    return page, "; ".join(f"{name} {' '.join(values)}" for name, values in policy.items())
