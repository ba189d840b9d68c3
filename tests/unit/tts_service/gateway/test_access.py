"""Who may ask for what: keys, limits, and pages of other origins."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from support.fake_client import FakeGateway
from tts_service.gateway.api_keys import KeyRing

KEY = "tts-0123456789abcdef"


def ring(tmp_path: Path, limits: str = "") -> KeyRing:
    path = tmp_path / "keys.toml"
    path.write_text(f'[webui]\nkey = "{KEY}"\n{limits}', encoding="utf-8")
    path.chmod(0o600)
    return KeyRing(str(path))


def bearer(key: str = KEY) -> dict[str, Any]:
    return {"headers": {"Authorization": f"Bearer {key}"}}


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": f"Bearer {KEY}"},
        {"Authorization": f"bearer   {KEY} "},
        {"xi-api-key": KEY},
        {"Authorization": "Bearer ", "xi-api-key": KEY},
    ],
)
def test_a_key_is_taken_in_each_header_that_clients_use(tmp_path: Path, headers: dict[str, str]) -> None:
    answer = FakeGateway(keys=ring(tmp_path)).speak(http={"headers": headers})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer "},
        {"Authorization": f"Basic {KEY}"},
        {"Authorization": KEY},
        {"Authorization": f"Bearer {KEY}x"},
        {"xi-api-key": "ä"},
        {"Authorization": f"Bearer {KEY}x", "xi-api-key": KEY},
    ],
)
@pytest.mark.parametrize(("method", "path"), [("POST", "/v1/audio/speech"), ("GET", "/workers"), ("GET", "/metrics")])
def test_a_request_without_a_known_key_is_refused_as_openai_does(
    tmp_path: Path, headers: dict[str, str], method: str, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    gateway = FakeGateway(keys=ring(tmp_path))
    with caplog.at_level(logging.DEBUG):
        answer = gateway.http.open(path, method=method, headers=headers, json={"input": "x"})
    error = answer.get_json()["error"]
    assert (answer.status_code, error["code"], error["type"]) == (401, "invalid_api_key", "invalid_request_error")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert gateway.client.posted == []
    assert KEY not in caplog.text
    assert KEY not in answer.get_data(as_text=True)


def test_what_has_no_keys_takes_any(tmp_path: Path) -> None:
    for key in ("", "anything"):
        assert FakeGateway().speak(http=bearer(key)).status_code == 200


@pytest.mark.parametrize("path", ["/v1/models", "/v1/models/default", "/v1/audio/models", "/v1/audio/voices"])
def test_lists_need_a_key_only_where_the_settings_say_so(tmp_path: Path, path: str) -> None:
    keys = ring(tmp_path)
    assert FakeGateway(keys=keys).http.get(path).status_code == 200
    closed = FakeGateway(keys=keys, keyless_lists=False).http
    assert (closed.get(path).status_code, closed.get(path, **bearer()).status_code) == (401, 200)


def test_probes_never_need_a_key_and_what_does_not_exist_is_not_found(tmp_path: Path) -> None:
    http = FakeGateway(keys=ring(tmp_path), keyless_lists=False).http
    answers = [http.get("/health"), http.get("/ready"), http.get("/nowhere"), http.put("/v1/audio/speech")]
    assert [answer.status_code for answer in answers] == [200, 200, 404, 405]


def test_the_name_of_the_key_and_never_the_key_is_in_the_log_and_in_the_jobs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gateway = FakeGateway(keys=ring(tmp_path))
    with caplog.at_level(logging.DEBUG):
        for text, status in (("Hello.", 200), ("", 400)):
            answer = gateway.speak(text, http=bearer())
            assert (answer.status_code, len(answer.data) > 0) == (status, True)
            answer.close()
    assert {job.client for job in gateway.client.posted} == {"key:webui"}
    lines = [line for line in caplog.messages if line.startswith("request ")]
    assert [" key=webui" in line for line in lines] == [True, True]
    assert KEY not in caplog.text


def test_a_key_has_no_more_requests_a_minute_than_it_may(tmp_path: Path) -> None:
    gateway = FakeGateway(keys=ring(tmp_path, "requests_per_minute = 3\n"))
    answers = [gateway.speak(http=bearer()) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    error = answers[-1].get_json()["error"]
    assert (error["code"], error["type"]) == ("rate_limit_exceeded", "rate_limit_error")
    assert "webui" in error["message"]
    assert "3 requests" in error["message"]
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 60
    assert answers[-1].headers["x-should-retry"] == "true"
    # What is no speech counts for nothing.
    assert gateway.http.get("/workers", **bearer()).status_code == 200


def test_a_key_has_no_more_requests_at_a_time_than_it_may(tmp_path: Path) -> None:
    gateway = FakeGateway(keys=ring(tmp_path, "max_in_flight = 2\n"))
    open_answers = [gateway.http.post("/v1/audio/speech", json={"input": "Hello."}, **bearer()) for _ in range(2)]
    refused = gateway.speak(http=bearer())
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
    for answer in open_answers:
        assert answer.data
        answer.close()
    assert gateway.speak(http=bearer()).status_code == 200


@pytest.mark.parametrize("text", ["", "Привет"])
def test_a_request_that_is_refused_gives_its_place_back(tmp_path: Path, text: str) -> None:
    gateway = FakeGateway(keys=ring(tmp_path, "max_in_flight = 1\n"))
    for _ in range(3):
        answer = gateway.speak(text, http=bearer(), voice="nobody")
        assert answer.status_code == 400
        answer.close()
    gateway.speak(http=bearer()).close()
    assert gateway.speak(http=bearer()).status_code == 200


def test_pages_of_other_origins_get_nothing_by_default() -> None:
    answer = FakeGateway().http.get("/v1/models", headers={"Origin": "https://a.example"})
    assert not [name for name, _ in answer.headers if name.lower().startswith("access-control")]


@pytest.mark.parametrize(
    ("origins", "origin", "allowed"),
    [
        ("*", "https://a.example", "*"),
        ("https://a.example http://b.example:3000", "https://a.example", "https://a.example"),
        ("https://a.example http://b.example:3000", "http://b.example:3000", "http://b.example:3000"),
        ("https://a.example http://b.example:3000", "https://evil.example", None),
        ("https://a.example", "https://a.example.evil.example", None),
        ("https://a.example", "http://a.example", None),
        ("https://a.example", "https://aXexample", None),
    ],
)
def test_pages_of_the_origins_that_are_named_may_ask(
    tmp_path: Path, origins: str, origin: str, allowed: str | None
) -> None:
    http = FakeGateway(keys=ring(tmp_path), cors_origins=origins).http
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    # A preflight has no key, and needs none.
    preflight = http.options("/v1/audio/speech", headers={"Origin": origin, **asked})
    refused = http.post("/v1/audio/speech", json={}, headers={"Origin": origin})
    assert (preflight.status_code, refused.status_code) == (200, 401)
    for answer in (preflight, refused):
        assert answer.headers.get("Access-Control-Allow-Origin") == allowed
    if allowed:
        assert "authorization" in preflight.headers["Access-Control-Allow-Headers"].lower()
        assert "POST" in preflight.headers["Access-Control-Allow-Methods"]
        assert {"X-Request-Id", "X-Seed"} <= set(refused.headers["Access-Control-Expose-Headers"].split(", "))


@pytest.mark.parametrize("headers", [{"Authorization": f"Bearer {KEY}"}, {"xi-api-key": KEY}])
def test_a_cache_keeps_no_audio_of_a_key_for_those_without(tmp_path: Path, headers: dict[str, str]) -> None:
    gateway = FakeGateway(keys=ring(tmp_path))
    path = "/v1/audio/speech?input=Hello."
    assert gateway.http.get(path).status_code == 401
    answer = gateway.http.get(path, headers=headers)
    assert answer.status_code == 200
    assert answer.headers["Cache-Control"].startswith("private")
