"""A service with API keys, as the clients that people use meet it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest

from support.load import at_once
from support.service import Service, running, wait_until

pytestmark = pytest.mark.system

KEY = "tts-0123456789abcdef"
SLOW_KEY = "tts-fedcba9876543210"
TOO_LONG = b'{"input": "' + b"a" * (5 << 20) + b'"}'


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("keys") / "keys.toml"
    path.write_text(f'[webui]\nkey = "{KEY}"\n[slow]\nkey = "{SLOW_KEY}"\nrequests_per_minute = 2\n', encoding="utf-8")
    path.chmod(0o600)
    return path


@pytest.fixture(scope="module")
def locked(key_file: Path) -> Iterator[Service]:
    env = {"TTS_SERVICE_GATEWAY_API_KEYS_FILE": str(key_file), "TTS_SERVICE_GATEWAY_CORS_ORIGINS": "https://a.example"}
    with running("--engine", "tone", "--workers", "1", env=env) as service:
        yield service


def sdk(service: Service, key: str, max_retries: int = 0) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{service.url}/v1", api_key=key, max_retries=max_retries)


def test_the_openai_sdk_speaks_with_its_key_and_is_told_what_a_wrong_one_is(locked: Service) -> None:
    with sdk(locked, KEY) as client:
        assert client.audio.speech.create(model="tts-1", voice="hz400", input="Hello.").content
        assert [model.id for model in client.models.list()] == ["default"]
        assert client.models.retrieve("tts-1").id == "tts-1"
        assert client.models.retrieve("default").object == "model"
    with sdk(locked, KEY + "x") as client, pytest.raises(openai.AuthenticationError) as caught:
        client.audio.speech.create(model="tts-1", voice="hz400", input="Hello.")
    assert caught.value.code == "invalid_api_key"
    assert caught.value.body == {
        "message": "this API key is not known: expected the header Authorization: Bearer KEY, or xi-api-key: KEY",
        "type": "invalid_request_error",
        "param": None,
        "code": "invalid_api_key",
    }
    wait_until(lambda: " key=webui " in locked.text_of_log(), 5.0, "the line with the key's name")
    assert KEY not in locked.text_of_log()


def test_the_openai_sdk_sees_a_rate_limit_as_one(locked: Service) -> None:
    with sdk(locked, SLOW_KEY) as client:
        for _ in range(2):
            assert client.audio.speech.create(model="tts-1", voice="hz400", input="Hello.").content
        with pytest.raises(openai.RateLimitError) as caught:
            client.audio.speech.create(model="tts-1", voice="hz400", input="Hello.")
    assert caught.value.code == "rate_limit_exceeded"
    assert 1 <= int(caught.value.response.headers["retry-after"]) <= 60


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer "}])
def test_open_webui_and_silly_tavern_list_models_and_voices_without_a_key(
    locked: Service, headers: dict[str, str]
) -> None:
    status, models, _ = locked.request("GET", "/v1/audio/models", None, headers)
    assert (status, [model["id"] for model in models["models"]]) == (200, ["default"])
    status, voices, _ = locked.request("GET", "/v1/audio/voices", None, headers)
    assert status == 200
    (voice,) = [voice for voice in voices["voices"] if voice["id"] == "hz400"]
    assert (voice["pool"], voice["engine"], voice["sample_rate"]) == ("default", "tone", 24000)
    assert voice["name"]
    assert locked.speak("Hello.", headers)[0].status == 401


def test_dep_08_a_refusal_for_its_key_is_read_whatever_is_sent_with_it(locked: Service) -> None:
    for more in ({}, {"Connection": "close"}):
        headers = {"Content-Type": "application/json"} | more
        answers = at_once(lambda _, sent=headers: locked.post_raw(TOO_LONG, sent)[0], range(50), n_threads=4)
        assert answers == [401] * 50


def test_a_page_of_a_named_origin_gets_through_its_preflight(locked: Service) -> None:
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization, content-type"}
    status, _, headers = locked.request("OPTIONS", "/v1/audio/speech", None, {"Origin": "https://a.example", **asked})
    assert (status, headers["Access-Control-Allow-Origin"]) == (200, "https://a.example")
    _, _, headers = locked.request("OPTIONS", "/v1/audio/speech", None, {"Origin": "https://b.example", **asked})
    assert "Access-Control-Allow-Origin" not in headers


def test_our_own_command_takes_its_key_from_the_environment(locked: Service, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tts_service", "say", "Hello.", "--url", locked.url, "-o", str(tmp_path / "a.wav")]
    for key, succeeds in (("", False), (KEY, True)):
        env = dict(os.environ) | {"TTS_SERVICE_API_KEY": key}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert (done.returncode == 0) is succeeds, done.stderr
    assert (tmp_path / "a.wav").stat().st_size > 1000


def test_a_key_that_is_added_works_without_a_restart(locked: Service, key_file: Path) -> None:
    text = key_file.read_text(encoding="utf-8")
    added = "tts-added-while-it-runs"
    assert locked.speak("Hello.", {"Authorization": f"Bearer {added}"})[0].status == 401
    key_file.write_text(f'{text}[late]\nkey = "{added}"\n', encoding="utf-8")
    wait_until(lambda: locked.speak("Hello.", {"xi-api-key": added})[0].status == 200, 10.0, "the new key")
