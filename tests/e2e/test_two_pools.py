"""Two pools in one service: who speaks when a request does not say, and before everything is loaded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.service import running, wait_until

pytestmark = pytest.mark.system

# The first pool takes its time to load; the second one is up at once.
SETTINGS = """
[pools.first]
engine = "tone"
workers = 1
default_voice = "hz500"
options = {load_s = 2.0}

[pools.second]
engine = "tone"
workers = 1
default_voice = "hz900"
"""


def test_the_first_pool_of_the_settings_speaks_for_requests_that_name_none(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(SETTINGS)
    with running("--config", str(tmp_path / "two.toml"), wait=False) as service:
        wait_until(lambda: len(service.get("/v1/models")[1]["data"]) == 1, 20, "the second pool alone")
        for fields in ({}, {"model": "tts-1"}):
            answer, body = service.speak("Who speaks?", **fields)
            assert (answer.status, json.loads(body)["error"]["code"]) == (503, "not_ready")
            assert int(answer.headers["Retry-After"]) >= 1
        assert len(service.pcm("Who speaks?", model="second")) > 0
        service.wait_ready()
        assert [model["id"] for model in service.get("/v1/models")[1]["data"]] == ["first", "second"]
        assert service.pcm("Who speaks?") == service.pcm("Who speaks?", model="first", voice="hz500")
        assert service.pcm("Who speaks?", model="second") == service.pcm("Who speaks?", model="second", voice="hz900")
