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


def test_val_12_a_fresh_service_answers_strict_json_before_its_first_request() -> None:
    with running("--engine", "tone", "--workers", "1") as service:
        for path in ("/health", "/ready", "/workers", "/v1/models", "/v1/audio/models", "/v1/audio/voices"):
            # Averages over nothing would be NaN, which this refuses.
            status, value, headers = service.request("GET", path)
            assert (status, headers["Content-Type"]) == (200, "application/json")
            assert value
        status, _, headers = service.request("GET", "/metrics")
        assert (status, headers["Content-Type"].partition(";")[0]) == (200, "text/plain")
