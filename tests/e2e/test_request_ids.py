"""Request ids are the clients' to choose, and may be chosen twice, also in two gateway processes at the same time."""

from __future__ import annotations

import threading

import pytest

from support.samples import tone_samples
from support.service import running

pytestmark = pytest.mark.system


def test_requests_with_one_id_in_several_gateway_processes_are_each_answered_with_their_own_audio() -> None:
    env = {
        "TTS_SERVICE_GATEWAY_PROCESSES": "2",
        "TTS_SERVICE_POOLS_DEFAULT_OPTIONS": "{step_cost_s = 0.02}",
    }
    text = "The same words for everybody who asks for them."
    with running("--engine", "tone", "--workers", "1", env=env) as service:
        voices = [f"hz{300 + 100 * n}" for n in range(12)]
        alone = {voice: service.pcm(text, voice=voice) for voice in voices}
        together: dict[str, bytes] = {}

        def speak(voice: str) -> None:
            headers = {"X-Request-Id": "session-7"}
            together[voice] = service.speak(text, headers, voice=voice, response_format="pcm")[1]

        threads = [threading.Thread(target=speak, args=(voice,)) for voice in voices]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert together == alone
        assert {len(pcm) // 2 for pcm in together.values()} == {tone_samples(text)}
