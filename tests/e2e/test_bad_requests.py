"""Requests that cannot be answered: a clear 4xx in one shape, before any worker hears of it."""

from __future__ import annotations

import json
from typing import Any

import psutil
import pytest

from support.service import Service

pytestmark = pytest.mark.system

UNKNOWN = "there is no such voice"
BLANKS = ["", " ", "\\t\\n \\r", "\\u3000", "\\u00a0", "\\u2003\\u2028"]
MISSING = ['{"voice": "hz400"}', "{}", '{"input": null}', "[]", '"hi"', "", "null", "5", "{", '{"input": "x"', "\ufeff"]


@pytest.fixture(autouse=True)
def no_worker_hears_of_it(tone: Service) -> Any:
    """Holds for every test of this file."""
    before = _steps(tone)
    yield
    assert _steps(tone) == before


def _steps(service: Service) -> list[tuple[int, float]]:
    return [(worker["segments_done"], worker["busy_seconds"]) for worker in service.workers()]


def check_refused(service: Service, body: bytes | str, param: str = "", statuses: tuple[int, ...] = (400,)) -> Any:
    """The answer is an error in OpenAI's shape that names the field; return it."""
    raw = body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass")
    status, value, headers = service.post_raw(raw)
    assert status in statuses, value
    assert headers["Content-Type"] == "application/json"
    assert headers["X-Request-Id"]
    error = value["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    if param:
        assert error["param"] == param
        assert param in error["message"]
    assert len(error["message"]) < 600
    return error


@pytest.mark.parametrize("body", MISSING)
def test_val_01_a_body_without_input_is_refused_by_name(tone: Service, body: str) -> None:
    check_refused(tone, body, "input")


@pytest.mark.parametrize("stream", ["", ', "stream": true', ', "stream": false'])
@pytest.mark.parametrize("blank", BLANKS)
def test_val_02_every_blank_text_gets_the_same_answer(tone: Service, blank: str, stream: str) -> None:
    error = check_refused(tone, f'{{"input": "{blank}"{stream}}}', "input")
    assert error == check_refused(tone, '{"input": ""}', "input")
    assert error["code"] == "nothing_to_speak"


@pytest.mark.parametrize(
    "speed",
    [
        *("0", "-1", "NaN", "Infinity", "-Infinity", "1e400", "1e-300", "0.0001", "0.2499", "4.001", "1000"),
        *('"1"', '""', "true", "false", "[]", "{}", "[1]", "1" * 400),
    ],
)
def test_val_04_a_speed_that_is_no_number_in_range_is_refused(tone: Service, speed: str) -> None:
    if speed in ("NaN", "Infinity", "-Infinity", "1e400", "1" * 400):
        # Not JSON, or no number that JSON's readers can hold.
        error = check_refused(tone, f'{{"input": "x", "speed": {speed}}}')
        assert "speed" in error["message"] or "JSON" in error["message"]
    else:
        check_refused(tone, f'{{"input": "x", "speed": {speed}}}', "speed")


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("seed", ["-2", "1.5", '"7"', "true", "9223372036854775808", "1e3", "[]"]),
        ("sample_rate", ["0", "7999", "48001", "24000.5", '"24000"', '"Native"', "true", "-1"]),
        ("stream", ["1", "0", '"true"', "[]", '"false"']),
        ("voice", ["5", "[]", "true", "{}", '{"id": 5}', '{"name": "x"}']),
        ("model", ["5", "[]", "{}", "false"]),
        ("language", ["5", "[]", '"' + "x" * 36 + '"']),
        ("input", ["5", "true", '["a"]', '{"a": 1}', "1.5"]),
        ("response_format", ["5", "true", '["wav"]', '{"a": 1}']),
    ],
)
def test_val_08_a_value_of_the_wrong_type_or_out_of_range_is_refused_by_name(
    tone: Service, field: str, values: list[str]
) -> None:
    for value in values:
        fields = {"input": '"x"'} | {field: value}
        check_refused(tone, "{" + ", ".join(f'"{name}": {shown}' for name, shown in fields.items()) + "}", field)


@pytest.mark.parametrize(
    "body", ['{"input": "a \\ud800 b"}', '{"input": "\\udc00"}', '{"input": "x", "voice": "\\ud800"}']
)
def test_val_06_a_lone_surrogate_is_refused(tone: Service, body: str) -> None:
    check_refused(tone, body)
    tone.log.read_bytes().decode("utf-8")


@pytest.mark.parametrize(
    "raw", [b'{"input": "\xff\xfe"}', b'{"input": "\xed\xa0\x80"}', b"\xff\xfe{\x00", b"\x00", b'{"\xe9": 1}']
)
def test_val_06_bytes_that_are_no_utf_8_are_refused(tone: Service, raw: bytes) -> None:
    check_refused(tone, raw)
    tone.log.read_bytes().decode("utf-8")


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_val_08_absurd_nesting_is_refused_and_costs_nothing(tone: Service, opening: str) -> None:
    gateway = psutil.Process(tone.named("tts-gateway")[-1].pid)
    before = gateway.memory_info().rss
    closing = "]" if opening == "[" else "}"
    for _ in range(5):
        nested = opening * 100_000 + ("1" if closing == "}" else "") + closing * 100_000
        check_refused(tone, f'{{"input": {nested}}}')
    assert gateway.memory_info().rss - before < 50 << 20


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_val_08_a_body_of_another_content_type_is_refused(tone: Service, content_type: str) -> None:
    status, value, _ = tone.post_raw(b'{"input": "x"}', {"Content-Type": content_type})
    assert (status, value["error"]["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "voice",
    [
        *("../../etc/passwd", "/etc/passwd", "/etc/no-such-file", "..%2f..%2fetc%2fpasswd", "hz400/../hz400"),
        *("voices\\joe", "file:///etc/passwd", "a" * 5000, "HZ400", " hz400", "hz400\\u0000", ""),
        "\\ud83d\\ude00" * 200,
    ],
)
@pytest.mark.parametrize("shape", ['"{}"', '{{"id": "{}"}}'])
def test_val_10_an_unknown_voice_is_refused_whatever_it_looks_like(tone: Service, voice: str, shape: str) -> None:
    raw = f'{{"input": "x", "voice": {shape.format(voice)}}}'.replace("voices\\joe", "voices\\\\joe")
    error = check_refused(tone, raw, "voice")
    if len(voice) < 256:
        assert error["code"] == "voice_not_found"
        # The same words for a file that exists and one that does not.
        shown, _, rest = error["message"].partition(UNKNOWN)
        assert shown.startswith("voice = '")
        assert rest == check_refused(tone, '{"input": "x", "voice": "nobody"}')["message"].partition(UNKNOWN)[2]


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("GET", "/v1/audio/speech/", 404, "not_found"),
        ("GET", "/v1/models/nobody", 404, "model_not_found"),
        ("PUT", "/v1/audio/speech", 405, "method_not_allowed"),
        ("DELETE", "/health", 405, "method_not_allowed"),
        ("POST", "/workers", 405, "method_not_allowed"),
    ],
)
def test_val_12_routes_that_do_not_exist_answer_in_json(
    tone: Service, method: str, path: str, status: int, code: str
) -> None:
    got, value, headers = tone.request(method, path)
    assert (got, value["error"]["code"], headers["Content-Type"]) == (status, code, "application/json")
    assert ("Allow" in headers) == (status == 405)


def test_a_text_over_the_limit_is_refused_with_the_limit(tone: Service) -> None:
    error = check_refused(tone, json.dumps({"input": "a" * 100_001}), "input")
    assert error["code"] == "text_too_long"
    assert "100000" in error["message"]


def test_an_unknown_model_is_refused(tone: Service) -> None:
    error = check_refused(tone, '{"input": "x", "model": "nobody"}', "model", (404,))
    assert error["code"] == "model_not_found"
    assert "default" in error["message"]


@pytest.mark.parametrize("rate_hz", [8001, 9000, 44000, 47999])
def test_a_rate_that_mp3_does_not_have_is_refused(tone: Service, rate_hz: int) -> None:
    check_refused(tone, f'{{"input": "x", "sample_rate": {rate_hz}, "response_format": "mp3"}}', "sample_rate")
