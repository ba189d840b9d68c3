"""Requests that look odd and are answered: nulls, unknown fields, doubled fields, foreign headers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.raw_http import RawClient
from support.samples import tone_samples
from support.service import Service

pytestmark = pytest.mark.system


@pytest.mark.parametrize("field", ["model", "voice", "response_format", "speed", "seed", "language", "stream"])
def test_val_04_null_stands_for_the_default(tone: Service, field: str) -> None:
    assert tone.speak("Nothing said.", **{field: None})[1] == tone.speak("Nothing said.")[1]


def test_val_06_a_pair_of_surrogates_is_one_character(tone: Service) -> None:
    status, body, _ = tone.post_raw(b'{"input": "ok \\ud83d\\ude00 \\ud835\\udc00", "response_format": "pcm"}')
    assert status == 200
    assert len(body) // 2 == tone_samples("ok \U0001f600 \U0001d400")


@pytest.mark.parametrize(
    "rest",
    [
        '"junk": {"a": 1}, "instructions": null, "stream_format": "audio"',
        '"instructions": "Speak slowly.", "user": "me"',
        '"": 0, "input_": "y", "INPUT": "z"',
    ],
)
def test_val_08_unknown_fields_are_ignored(tone: Service, rest: str) -> None:
    status, body, _ = tone.post_raw(f'{{"input": "x", "response_format": "pcm", {rest}}}'.encode())
    assert status == 200
    assert body == tone.pcm("x")


def test_val_08_the_last_of_two_equal_fields_counts(tone: Service) -> None:
    status, body, _ = tone.post_raw(b'{"input": "aaaa", "input": "b", "response_format": "pcm"}')
    assert (status, body) == (200, tone.pcm("b"))


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Content-Type": "application/json; charset=utf-8"},
        {"Content-Type": "application/vnd.api+json"},
        {"Content-Type": "application/json", "Authorization": "Bearer "},
        {"Content-Type": "application/json", "Authorization": "Bearer sk-123", "Accept": "audio/wav"},
    ],
)
def test_val_08_json_is_read_whatever_else_the_headers_say(tone: Service, headers: dict[str, str]) -> None:
    assert tone.post_raw(b'{"input": "x", "response_format": "pcm"}', headers)[0] == 200


def test_limits_themselves_are_allowed(tone: Service) -> None:
    for fields in ({"speed": 0.25}, {"speed": 4}, {"seed": 2**63 - 1}, {"sample_rate": 8000}, {"sample_rate": 48000}):
        assert tone.speak("Just so.", **fields)[0].status == 200, fields


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FIELDS = ("input", "voice", "model", "response_format", "speed", "seed", "language", "sample_rate", "stream")


@settings(max_examples=150, deadline=None)
@given(fields=st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=5), text=st.text(max_size=20))
def test_val_08_whatever_json_comes_the_answer_is_audio_or_a_clear_refusal(
    tone: Service, fields: dict[str, Any], text: str
) -> None:
    # Python's JSON has NaN and Infinity, and writes lone surrogates as escapes: so may a client's.
    body = json.dumps({"input": text} | fields).encode()
    status, value, headers = tone.post_raw(body)
    assert status in (200, 400, 404)
    if status == 200:
        assert headers["Content-Type"].startswith("audio/")
        assert len(value) > 44
    else:
        assert value["error"]["message"]
        assert value["error"]["code"]


@pytest.mark.parametrize("model", ["tts-1", "tts-1-hd", "gpt-4o-mini-tts", "default", "tone", "", None])
def test_openais_model_names_stand_for_whatever_there_is(tone: Service, model: str | None) -> None:
    assert tone.pcm("Any model.", model=model) == tone.pcm("Any model.")


def test_a_request_id_that_is_one_comes_back_and_another_does_not(tone: Service) -> None:
    for sent in ("abc-123", "A" * 128):
        assert tone.speak("x", {"X-Request-Id": sent})[0].headers["X-Request-Id"] == sent
    for sent in ("a b", "A" * 129, "<x>", ""):
        assert tone.speak("x", {"X-Request-Id": sent})[0].headers["X-Request-Id"].startswith("req-")


def test_the_seed_that_was_used_is_told_and_repeats_the_answer(hibari: Service) -> None:
    answer, body = hibari.speak("Once more.", seed=-1)
    seed = int(answer.headers["X-Seed"])
    assert hibari.speak("Once more.", seed=seed)[1] == body
    assert hibari.speak("Once more.")[0].headers["X-Seed"] == "0"
    assert len({hibari.speak("x", seed=-1)[0].headers["X-Seed"] for _ in range(4)}) > 1


@pytest.mark.parametrize(
    ("path", "status"),
    [("/health", 200), ("/v1/models", 200), ("/openapi.json", 200), ("/docs", 200), ("/nowhere", 404)],
)
def test_val_12_head_has_the_headers_of_get_and_no_body(tone: Service, path: str, status: int) -> None:
    with RawClient(tone) as client:
        client.head(f"HEAD {path} HTTP/1.1", "Connection: close")
        received = b""
        while data := client.socket.recv(65536):
            received += data
    head, _, body = received.partition(b"\r\n\r\n")
    assert (int(head.split()[1]), body) == (status, b"")
    got, value, headers = tone.request("GET", path)
    length = headers["Content-Length"] if status == 200 else str(len(json.dumps(value, separators=(",", ":"))))
    assert (got, f"Content-Length: {length}".encode() in head) == (status, True)
