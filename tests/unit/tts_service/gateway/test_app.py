"""The routes but speech, and the errors of all of them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from support.fake_client import FakeClient, FakeGateway
from support.messages import WORKER_STATUS
from support.pools import pool
from tts_service import __version__
from tts_service.gateway.answers import request_id
from tts_service.gateway.operations import why_not_ready
from tts_service.protocol import Voice


def strict(body: bytes) -> Any:
    """Return JSON as the strictest client reads it."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(body.decode("utf-8"), parse_constant=refuse)


def error_of(answer: Any) -> dict[str, Any]:
    """Return the error of an answer, which has the shape that OpenAI's clients read."""
    assert answer.content_type == "application/json"
    value = strict(answer.data)
    assert value.keys() == {"error"}
    error: dict[str, Any] = value["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert error["type"] == ("server_error" if answer.status_code >= 500 else "invalid_request_error")
    assert error["message"]
    assert ("Retry-After" in answer.headers) is (answer.status_code == 503)
    return error


def test_the_catalogue_lists_pools_as_models() -> None:
    gateway = FakeGateway(FakeClient([pool("fast"), pool("good", engine_name="hibari", sample_rate_hz=22050)]))
    models = strict(gateway.http.get("/v1/models").data)
    assert models["object"] == "list"
    assert [model["id"] for model in models["data"]] == ["fast", "good"]
    good = models["data"][1]
    assert (good["object"], good["engine"], good["sample_rate"]) == ("model", "hibari", 22050)
    assert (good["default_voice"], good["speed"]) == ("anna", {"min": 0.5, "max": 2.0})
    assert isinstance(good["created"], int)
    assert strict(gateway.http.get("/v1/models/good").data) == good
    assert strict(gateway.http.get("/v1/audio/models").data) == {"models": models["data"]}


@pytest.mark.parametrize("name", ["tts-1", "tts-1-hd", "gpt-4o-mini-tts", "hibari"])
def test_every_name_that_a_request_may_use_is_a_model(name: str) -> None:
    gateway = FakeGateway(FakeClient([pool("fast"), pool("good", engine_name="hibari")]))
    answer = gateway.http.get(f"/v1/models/{name}")
    model = strict(answer.data)
    assert (answer.status_code, model["id"], model["object"]) == (200, name, "model")
    assert model["engine"] == ("hibari" if name == "hibari" else pool("fast").engine.name)


def test_an_unknown_model_is_not_found() -> None:
    answer = FakeGateway().http.get("/v1/models/tts-9")
    assert answer.status_code == 404
    assert (error_of(answer)["code"], error_of(answer)["param"]) == ("model_not_found", "model")


def test_voices_of_all_pools_are_listed() -> None:
    client = FakeClient([pool("fast"), pool("good", voices=[Voice("carl", "Carl", [])], default_voice="carl")])
    voices = strict(FakeGateway(client).http.get("/v1/audio/voices").data)["voices"]
    assert [(voice["id"], voice["name"], voice["model"]) for voice in voices] == [
        ("anna", "Anna", "fast"),
        ("bert", "Bert", "fast"),
        ("carl", "Carl", "good"),
    ]
    assert [voice["pool"] for voice in voices] == ["fast", "fast", "good"]
    assert all(voice["sample_rate"] == 24000 and voice["engine"] for voice in voices)
    assert (voices[0]["language"], voices[0]["languages"]) == ("en-GB", ["en-GB", "en"])
    assert (voices[2]["language"], voices[2]["languages"]) == (None, [])


def test_health_needs_nobody() -> None:
    client = FakeClient([])
    client.connected, client.catalogue = False, None
    answer = FakeGateway(client).http.get("/health")
    assert (answer.status_code, strict(answer.data)) == (200, {"status": "ok", "version": __version__})


def test_workers_are_shown_as_the_dispatcher_sees_them() -> None:
    value = strict(FakeGateway().http.get("/workers").data)
    assert value["workers"][0]["index"] == WORKER_STATUS.index
    assert value["workers"][0]["slots"] == {"total": 4, "active": 1}
    assert value["pools"][0]["queued"] == 5
    assert value["dispatcher"] == {"pid": 42, "closed": False, "requests": 3}


def test_metrics_are_prometheus_text() -> None:
    answer = FakeGateway().http.get("/metrics")
    assert (answer.data, answer.status_code) == (b"tts_up 1\n", 200)
    assert answer.content_type == "text/plain; version=0.0.4; charset=utf-8"


@pytest.mark.parametrize("path", ["/workers", "/metrics"])
def test_what_only_the_dispatcher_knows_is_unavailable_without_it(path: str) -> None:
    client = FakeClient()
    client.connected = False
    answer = FakeGateway(client).http.get(path)
    assert answer.status_code == 503
    assert error_of(answer)["code"] == "not_ready"
    assert answer.headers["Retry-After"] == "1"


def test_a_service_with_warm_workers_is_ready() -> None:
    answer = FakeGateway().http.get("/ready")
    assert (answer.status_code, strict(answer.data)) == (200, {"status": "ready"})


def lost(client: FakeClient) -> None:
    client.connected = False


def unheard(client: FakeClient) -> None:
    client.catalogue = None


def refused(client: FakeClient) -> None:
    client.refused = "restart the older half"


def one_pool_cold(client: FakeClient) -> None:
    client.pools = {"fast": pool("fast"), "good": pool("good", n_ready=0)}
    client.announce()


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lost, "does not answer"),
        (unheard, "does not answer"),
        (refused, "restart the older half"),
        (lambda client: client.announce(draining=True), "takes no new requests"),
        (lambda client: client.announce(closed=True), "takes no new requests"),
        (lambda client: client.announce(warm=False), "not all workers have been warm yet"),
        (one_pool_cold, "no worker is warm in: good"),
    ],
)
def test_a_service_that_should_get_no_requests_says_why(spoil: Any, reason: str) -> None:
    client = FakeClient()
    spoil(client)
    assert reason in why_not_ready(client)  # type: ignore[arg-type]
    answer = FakeGateway(client).http.get("/ready")
    assert answer.status_code == 503
    assert (error_of(answer)["code"], answer.headers["Retry-After"]) == ("not_ready", "1")
    assert reason in error_of(answer)["message"]


def test_a_pool_with_one_of_its_workers_down_is_ready() -> None:
    client = FakeClient([pool(n_workers=2, n_ready=1)])
    assert why_not_ready(client) == ""  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/models/", "/v1/audio/speech/", "/favicon.ico", "/../etc/passwd"])
def test_an_unknown_path_is_not_found_as_json(path: str) -> None:
    answer = FakeGateway().http.get(path)
    assert answer.status_code == 404
    assert error_of(answer)["code"] == "not_found"


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [("PUT", "/v1/audio/speech", "POST"), ("POST", "/health", "GET"), ("DELETE", "/v1/models/default", "GET")],
)
def test_a_wrong_method_is_refused_with_the_right_ones(method: str, path: str, allowed: str) -> None:
    answer = FakeGateway().http.open(path, method=method)
    assert answer.status_code == 405
    assert error_of(answer)["code"] == "method_not_allowed"
    assert allowed in answer.headers["Allow"]


def test_a_head_request_has_headers_and_no_body() -> None:
    answer = FakeGateway().http.head("/health")
    assert (answer.status_code, answer.data) == (200, b"")


@pytest.mark.parametrize("sent", ["abc", "A-1_2.3:4", "x" * 128])
def test_a_request_id_is_given_back_with_every_answer(sent: str) -> None:
    gateway = FakeGateway()
    for path in ("/health", "/nowhere", "/v1/models/none"):
        assert gateway.http.get(path, headers={"X-Request-Id": sent}).headers["X-Request-Id"] == sent


@pytest.mark.parametrize("sent", ["", " ", "a b", "x" * 129, "a,b", "<script>", "ä", "a/b", "a\tb"])
def test_a_request_id_that_is_none_is_replaced(sent: str) -> None:
    answer = FakeGateway().http.get("/health", headers={"X-Request-Id": sent})
    assert re.fullmatch("req-[0-9a-f]{16}", answer.headers["X-Request-Id"])


def test_a_request_id_never_ends_in_a_line_end() -> None:
    assert request_id("abc\n").startswith("req-")
    assert request_id(None).startswith("req-")


def test_every_request_without_an_id_gets_its_own() -> None:
    http = FakeGateway().http
    assert len({http.get("/health").headers["X-Request-Id"] for _ in range(20)}) == 20


def test_an_unexpected_error_is_json_and_in_the_log_and_tells_the_client_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def bug() -> None:
        raise KeyError("the secret of the house")

    client = FakeClient()
    monkeypatch.setattr(client, "status", bug)
    answer = FakeGateway(client).http.get("/workers", headers={"X-Request-Id": "r-77"})
    assert answer.status_code == 500
    assert error_of(answer)["code"] == "internal"
    assert "secret" not in answer.data.decode()
    assert answer.headers["X-Request-Id"] == "r-77"
    assert "request r-77: unexpected error" in caplog.text
    assert "the secret of the house" in caplog.text


def test_every_answer_is_reported_by_its_rule_and_never_by_its_path() -> None:
    gateway = FakeGateway()
    for path in ("/health", "/v1/models/default", "/v1/models/none", "/nowhere/123"):
        gateway.http.get(path).close()
    gateway.http.put("/health").close()
    assert [(report.route, report.outcome) for report in gateway.client.reports] == [
        ("/health", "complete"),
        ("/v1/models/<name>", "complete"),
        ("/v1/models/<name>", "model_not_found"),
        ("other", "not_found"),
        ("other", "method_not_allowed"),
    ]
    assert all(report.duration_s >= 0 for report in gateway.client.reports)


def test_numbers_that_json_does_not_have_are_null() -> None:
    client = FakeClient([pool(max_speed=float("inf"))])
    assert strict(FakeGateway(client).http.get("/v1/models/default").data)["speed"] == {"min": 0.5, "max": None}
