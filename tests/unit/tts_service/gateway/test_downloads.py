"""GET and HEAD /v1/audio/speech on the application: heads, tags, parts, and what is not synthesized for them."""

from __future__ import annotations

from typing import Any

import pytest

from support.fake_client import FakeClient, FakeGateway
from support.pools import pool

PATH = "/v1/audio/speech"
FIELDS = {"input": "A link to this.", "voice": "bert"}


def get(gateway: FakeGateway, headers: dict[str, str] | None = None, **fields: Any) -> Any:
    return gateway.http.get(PATH, query_string=FIELDS | fields, headers=headers or {})


def head(gateway: FakeGateway, headers: dict[str, str] | None = None, **fields: Any) -> Any:
    return gateway.http.head(PATH, query_string=FIELDS | fields, headers=headers or {})


def tag(**fields: Any) -> str:
    return str(head(FakeGateway(), **fields).headers["ETag"])


def test_a_link_has_the_bytes_of_the_post() -> None:
    gateway = FakeGateway()
    answer = get(gateway)
    assert answer.status_code == 200
    assert answer.data == gateway.speak(FIELDS["input"], voice="bert", response_format="wav").data
    assert answer.headers["Content-Length"] == str(len(answer.data))
    assert answer.headers["Content-Disposition"] == 'inline; filename="A link to this.wav"'
    assert answer.headers["Accept-Ranges"] == "bytes"
    assert answer.headers["Cache-Control"] == "public, max-age=86400"
    assert answer.headers["Vary"] == "Accept"
    assert answer.headers["X-Voice"] == "bert"


@pytest.mark.parametrize("response_format", ["wav", "mp3", "opus", "pcm"])
def test_the_head_is_that_of_the_get_and_nothing_is_synthesized_for_it(response_format: str) -> None:
    gateway = FakeGateway()
    short = head(gateway, response_format=response_format)
    assert gateway.client.posted == []
    assert (short.status_code, short.data) == (200, b"")
    assert "Content-Length" not in short.headers, "nobody knows it, and it is not 0"
    whole = get(gateway, response_format=response_format)
    for name in ("ETag", "Cache-Control", "Content-Disposition", "Content-Type", "Accept-Ranges", "Vary"):
        assert short.headers[name] == whole.headers[name]


def test_a_client_that_has_it_gets_304_without_synthesis() -> None:
    gateway = FakeGateway()
    known = head(gateway).headers["ETag"]
    for sent in (known, f"W/{known}", f'"other", {known}', "*"):
        answer = get(gateway, {"If-None-Match": sent})
        assert (answer.status_code, answer.data) == (304, b"")
        assert answer.headers["ETag"] == known
        assert answer.headers["Cache-Control"] == "public, max-age=86400"
        assert "Content-Type" not in answer.headers
    assert gateway.client.posted == []
    assert gateway.admission.n_inside == 0
    assert get(gateway, {"If-None-Match": '"other"'}).status_code == 200


def test_what_fixes_the_bytes_is_in_the_tag_and_what_does_not_is_not() -> None:
    same = tag()
    for fields in (
        {"timeout": "9"},
        {"priority": "3"},
        {"download": "1"},
        {"model": "tts-1"},
        {"unknown": "x"},
        {"seed": "0"},
    ):
        assert tag(**fields) == same
    others = [
        tag(**fields)
        for fields in (
            {"input": "A link to that."},
            {"voice": "anna"},
            {"seed": "1"},
            {"speed": "1.5"},
            {"speed": "3"},
            {"sample_rate": "16000"},
            {"response_format": "mp3"},
            {"response_format": "pcm"},
            {"trim": "true"},
            {"stream": "true"},
            {"language": "de"},
            {"stream_format": "sse"},
        )
    ]
    assert len({same, *others}) == 1 + len(others)
    assert head(FakeGateway(FakeClient([pool(generation="g2")]))).headers["ETag"] != same
    long = {"input": "A link to this, and to that, and to more. " * 3}
    assert head(FakeGateway(segment_chars=20), **long).headers["ETag"] != tag(**long)
    assert head(FakeGateway(mp3_kbps=32)).headers["ETag"] != same


@pytest.mark.parametrize(
    ("wanted", "first", "last"), [("bytes=0-99", 0, 99), ("bytes=44-", 44, None), ("bytes=-10", -10, None)]
)
def test_a_part_is_that_part_of_the_whole(wanted: str, first: int, last: int | None) -> None:
    gateway = FakeGateway()
    whole = get(gateway).data
    part = get(gateway, {"Range": wanted})
    assert part.status_code == 206
    assert part.data == whole[first : None if last is None else last + 1]
    start = first if first >= 0 else len(whole) + first
    assert part.headers["Content-Range"] == f"bytes {start}-{start + len(part.data) - 1}/{len(whole)}"
    assert part.headers["Content-Length"] == str(len(part.data))


@pytest.mark.parametrize("wanted", ["bytes=0-1,5-6", "bytes=x", "samples=0-5", "bytes", "bytes=9-3"])
def test_a_range_that_is_none_or_several_gets_the_whole(wanted: str) -> None:
    answer = get(FakeGateway(), {"Range": wanted})
    assert answer.status_code == 200
    assert len(answer.data) == int(answer.headers["Content-Length"])


def test_a_range_beyond_the_end_is_refused_with_the_length() -> None:
    gateway = FakeGateway()
    length = len(get(gateway).data)
    answer = get(gateway, {"Range": f"bytes={length}-"})
    assert answer.status_code == 416
    assert answer.headers["Content-Range"] == f"bytes */{length}"
    assert answer.get_json()["error"]["code"] == "range_not_satisfiable"
    answer.close()
    assert gateway.admission.n_inside == 0


def test_a_part_of_another_version_is_the_whole_of_this_one() -> None:
    gateway = FakeGateway()
    known = head(gateway).headers["ETag"]
    assert get(gateway, {"Range": "bytes=0-9", "If-Range": known}).status_code == 206
    assert get(gateway, {"Range": "bytes=0-9", "If-Range": '"older"'}).status_code == 200


@pytest.mark.parametrize("client", [FakeClient(), FakeClient([pool(default_seed=-1)])])
def test_what_sounds_different_each_time_is_not_kept(client: FakeClient) -> None:
    gateway = FakeGateway(client)
    fields = {} if client.pools["default"].default_seed else {"seed": "-1"}
    answer = get(gateway, {"Range": "bytes=0-9", "If-None-Match": "*"}, **fields)
    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-store"
    assert "ETag" not in answer.headers
    assert "Accept-Ranges" not in answer.headers


def test_an_answer_to_somebody_with_a_key_is_not_for_shared_caches() -> None:
    answer = head(FakeGateway(cache_max_age_s=60), {"Authorization": "Bearer x"})
    assert answer.headers["Cache-Control"] == "private, max-age=60"
    assert head(FakeGateway(cache_max_age_s=0)).headers["Cache-Control"] == "public, no-cache"


def test_a_link_may_stream() -> None:
    answer = get(FakeGateway(), {"Range": "bytes=0-9"}, stream="true", response_format="mp3")
    assert answer.status_code == 200
    assert "Content-Length" not in answer.headers
    assert answer.headers["Accept-Ranges"] == "none"


@pytest.mark.parametrize("method", ["get", "head"])
@pytest.mark.parametrize(
    ("fields", "status"),
    [({"voice": "nobody"}, 400), ({"input": "…"}, 400), ({"model": "x"}, 404), ({"download": "perhaps"}, 400)],
)
def test_what_cannot_be_spoken_is_refused_before_anything_is_asked_of_a_worker(
    method: str, fields: dict[str, str], status: int
) -> None:
    gateway = FakeGateway()
    answer = gateway.http.open(PATH, method=method.upper(), query_string=FIELDS | fields)
    assert answer.status_code == status
    assert "ETag" not in answer.headers
    assert gateway.client.posted == []
    assert gateway.admission.n_inside == 0


def test_a_link_that_saves_says_so() -> None:
    assert head(FakeGateway(), download="true").headers["Content-Disposition"].startswith("attachment; ")
