"""nginx with the shipped configuration in front of one node; and its numbers against the gateway's."""

from __future__ import annotations

import http.client
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.load import at_once
from support.nginx import FOLDER, Proxy, configure, nginx
from support.raw_http import RawClient
from support.service import Service, engine_options, running
from tts_service.settings import GatewaySettings

TEXT = "This is a sentence of the story. And here is one more of it! "
FILES = ("one-node.conf", "several-nodes.conf")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def seconds(text: str, name: str) -> int:
    found = re.search(rf"^\s*{name} (\d+)s;", text, re.MULTILINE)
    assert found is not None, name
    return int(found.group(1))


@pytest.mark.parametrize("name", FILES)
def test_dep_03_the_gateway_keeps_connections_for_longer_than_nginx_does(name: str) -> None:
    assert seconds((FOLDER / name).read_text(), "keepalive_timeout") < GatewaySettings().keepalive_s


def test_dep_08_limits_and_time_outs_of_nginx_agree_with_the_gateways() -> None:
    text = (FOLDER / "locations.conf").read_text()
    settings = GatewaySettings()
    assert "client_max_body_size 1m;" in text
    assert "client_body_buffer_size 1m;" in text
    assert settings.max_body_bytes == 1 << 20
    assert seconds(text, "proxy_read_timeout") > settings.progress_timeout_s
    assert seconds(text, "send_timeout") == settings.send_timeout_s


@pytest.mark.parametrize("name", [path.name for path in FOLDER.glob("*.conf") if path.name != "sysctl.conf"])
def test_each_line_that_matters_has_its_why(name: str) -> None:
    paragraphs = (FOLDER / name).read_text().split("\n\n")
    assert all("#" in paragraph for paragraph in paragraphs if "proxy_" in paragraph and "location / " not in paragraph)


@pytest.mark.system
def test_the_example_with_tls_and_limits_is_valid(tmp_path: Path) -> None:
    configure(tmp_path, "one-node.conf", "127.0.0.1:1", ["127.0.0.1:2"])
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=tts.example.org", "-days", "1"]
    subprocess.run([*request, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    text = (FOLDER / "tls-and-limits.conf").read_text()
    text = re.sub(r"ssl_certificate_key .*;", f"ssl_certificate_key {key};", text)
    text = re.sub(r"ssl_certificate /.*;", f"ssl_certificate {certificate};", text)
    one = (tmp_path / "one-node.conf").read_text()
    (tmp_path / "one-node.conf").write_text(one[: one.index("server {\n    listen")] + text)
    command = ["nginx", "-t", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "test is successful" in done.stderr, done.stderr


@pytest.fixture(scope="module")
def node() -> Iterator[Service]:
    """One worker of 25 seconds of audio a second, that needs little of a CPU for it."""
    with running("--engine", "tone", "--workers", "1", env=engine_options(step_wait_s=0.01, faults=True)) as service:
        yield service


@pytest.fixture(scope="module")
def proxy(node: Service) -> Iterator[Proxy]:
    with nginx("one-node.conf", f"127.0.0.1:{free_port()}", [node.url.removeprefix("http://")]) as proxy:
        yield proxy


def first_audio_s(service: Service, text: str) -> float:
    started_s = time.monotonic()
    with RawClient(service) as client:
        client.speech(text, response_format="pcm", stream=True, seed=1)
        answer = client.answer()
        assert answer.status == 200
        assert answer.read(1)
        return time.monotonic() - started_s


@pytest.mark.system
def test_dep_01_streams_are_not_buffered_and_downloads_are(node: Service, proxy: Proxy) -> None:
    text = TEXT * 4
    started_s = time.monotonic()
    whole = proxy.pcm(text, stream=False, seed=1)
    whole_s = time.monotonic() - started_s
    assert first_audio_s(proxy, text) < 0.5 * whole_s
    for service in (node, proxy):
        streamed, body = service.speak(text, response_format="pcm", stream=True, seed=1)
        assert body == whole
        assert streamed.headers.get("x-accel-buffering", "no") == "no"
        buffered, _ = service.speak(text, response_format="wav")
        assert "x-accel-buffering" not in buffered.headers
    # nginx itself takes the header out.
    direct, _ = node.speak("Short.", response_format="pcm", stream=True)
    assert direct.headers["x-accel-buffering"] == "no"


@pytest.mark.system
def test_dep_08_a_body_over_the_limit_always_gets_its_413_through_nginx(proxy: Proxy) -> None:
    body = b'{"input": "' + b"x" * 5_000_000 + b'"}'
    statuses = at_once(lambda _: proxy.post_raw(body)[0], range(100), n_threads=8)
    assert statuses == [413] * 100


@pytest.mark.system
def test_dep_08_a_body_of_exactly_the_limit_passes_nginx(proxy: Proxy) -> None:
    head, tail = b'{"input": "', b'"}'
    body = head + b"x" * (GatewaySettings().max_body_bytes - len(head) - len(tail)) + tail
    status, error, _ = proxy.post_raw(body)
    assert (status, error["error"]["code"]) == (400, "text_too_long")


@pytest.mark.system
@pytest.mark.timeout(60)
def test_dep_03_connections_used_again_after_every_pause_give_no_error(proxy: Proxy) -> None:
    connections_before = proxy.errors().count("upstream prematurely closed")
    for pause_s in (0.0, 0.5, 1.9, 2.0, 2.1):
        time.sleep(pause_s)
        answers = at_once(lambda _: proxy.request("GET", "/health")[0], range(60), n_threads=4)
        assert answers == [200] * 60
    assert proxy.errors().count("upstream prematurely closed") == connections_before


@pytest.mark.system
def test_a_stream_that_breaks_off_upstream_is_broken_for_the_client(proxy: Proxy) -> None:
    with RawClient(proxy) as client:
        client.speech(TEXT + "[[fail at=1]]" + TEXT, response_format="pcm", stream=True)
        answer = client.answer()
        assert answer.status == 200
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            answer.read()


@pytest.mark.system
def test_what_is_about_one_node_is_not_shown_to_everybody(proxy: Proxy) -> None:
    assert proxy.request("GET", "/metrics")[0] == 404
    assert proxy.request("GET", "/workers")[0] == 404
    assert proxy.request("GET", "/ready")[0] == 200


@pytest.mark.system
def test_a_service_that_is_away_is_a_503_in_json_that_says_when_to_come_back(node: Service) -> None:
    with nginx("one-node.conf", f"127.0.0.1:{free_port()}", [f"127.0.0.1:{free_port()}"]) as proxy:
        status, error, headers = proxy.post_raw(b'{"input": "Anybody there?"}')
        assert (status, error["error"]["code"]) == (503, "not_ready")
        assert headers["Retry-After"] == "2"


@pytest.mark.system
def test_no_text_and_no_audio_is_written_to_nginxs_disk(proxy: Proxy) -> None:
    at_once(lambda n: proxy.speak(TEXT * 5, response_format="wav", seed=n), range(4))
    written = [path for path in proxy.folder.rglob("*") if path.is_file() and path.stat().st_size]
    allowed = {"nginx.pid", "error.log", "access.log", "nginx.conf", "one-node.conf", "locations.conf", "output"}
    assert {path.name for path in written} <= allowed
    assert TEXT.split(".", maxsplit=1)[0] not in proxy.errors()
