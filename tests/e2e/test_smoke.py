"""The shortest way through the whole service."""

from __future__ import annotations

import io

import pytest
import soundfile

from support.service import running

pytestmark = pytest.mark.system


def test_a_request_is_answered_with_a_wav() -> None:
    with running("--engine", "tone", "--workers", "1") as service:
        answer, body = service.speak("Hello.", response_format="wav", voice="hz500")
        assert answer.status == 200
        samples, rate_hz = soundfile.read(io.BytesIO(body))
        assert rate_hz == 24000
        assert len(samples) == round(6 * 0.06 * 24000)
