"""The description of the API, and the page that shows it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any

import pytest

from support.fake_client import FakeGateway
from tts_service.errors import Code
from tts_service.gateway.api_keys import KeyRing
from tts_service.gateway.body import read_body

KEYS = "webui=tts-0123456789abcdef"
INTERNAL = {Code.METHOD_NOT_ALLOWED, Code.INVALID_API_KEY, Code.RATE_LIMITED, Code.BAD_HTTP}
"""Codes that no speech request gets, or only one with keys."""


def document(keys: str = "", **settings: Any) -> dict[str, Any]:
    answer = FakeGateway(keys=KeyRing("", keys), **settings).http.get("/openapi.json")
    assert (answer.status_code, answer.content_type) == (200, "application/json")
    value: dict[str, Any] = json.loads(answer.data)
    return value


def test_every_route_and_method_is_described() -> None:
    app = FakeGateway().app
    routes = {
        (re.sub("<(.*)>", r"{\1}", rule.rule), method.lower())
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    described = {(path, method) for path, methods in document()["paths"].items() for method in methods}
    assert described == routes
    operations = [one for methods in document()["paths"].values() for one in methods.values()]
    assert len({one["operationId"] for one in operations}) == len(operations)
    assert all(one["summary"] and one["tags"] for one in operations)


def test_every_reference_leads_somewhere() -> None:
    described = document(KEYS)
    for found in re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(described)):
        place: Any = described
        for step in found.split("/"):
            place = place[step]


def test_every_status_that_a_speech_request_can_get_is_described() -> None:
    described = document(KEYS)["paths"]["/v1/audio/speech"]["post"]["responses"]
    statuses = {str(code.status) for code in set(Code) - INTERNAL}
    # Only links have parts.
    assert statuses - {"416"} <= described.keys()
    assert statuses | {"206", "304"} <= document(KEYS)["paths"]["/v1/audio/speech"]["get"]["responses"].keys()
    assert {"200", "401", "429"} <= described.keys()
    for status in ("429", "503"):
        assert "Retry-After" in described[status]["headers"]


def test_the_body_is_the_type_that_reads_it_with_the_settings_limits() -> None:
    body = document(max_text_chars=321)["components"]["schemas"]["SpeechBody"]
    assert body["properties"]["input"]["maxLength"] == 321
    assert body["required"] == ["input"]
    for name in body["properties"]:
        if name != "input":
            # Null is described as allowed, and is.
            field = body["properties"][name]
            assert {"type": "null"} in field.get("anyOf", []) or None in field.get("enum", []), name
            assert read_body(json.dumps({"input": "x", name: None}).encode(), 10).input == "x"
    for example in body["examples"]:
        assert FakeGateway().http.post("/v1/audio/speech", json=example).status_code == 200


def test_keys_are_described_only_where_they_are_needed() -> None:
    assert "security" not in document()
    described = document(KEYS)
    assert described["security"] == [{"bearer": []}, {"xi-api-key": []}]
    assert described["components"]["securitySchemes"].keys() == {"bearer", "xi-api-key"}
    paths = described["paths"]
    assert paths["/health"]["get"]["security"] == paths["/v1/models"]["get"]["security"] == [{}]
    assert "security" not in paths["/v1/audio/speech"]["post"]


def test_the_page_loads_nothing_from_elsewhere_and_may_not() -> None:
    answer = FakeGateway().http.get("/docs")
    page = answer.get_data(as_text=True)
    assert (answer.status_code, answer.content_type) == (200, "text/html; charset=utf-8")
    assert not re.search(r"https?://", page)
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=\"(?!data:)", page)
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for kind in ("script", "style"):
        (text,) = re.findall(f"<{kind}>(.*?)</{kind}>", page, re.DOTALL)
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy


@pytest.mark.parametrize("handler", ["onclick=", "onload=", "style="])
def test_the_page_has_nothing_inline_that_its_policy_forbids(handler: str) -> None:
    assert handler not in FakeGateway().http.get("/docs").get_data(as_text=True)
