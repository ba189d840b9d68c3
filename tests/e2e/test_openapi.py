"""The service does what its description says: schemathesis makes requests from it, valid and invalid ones."""

from __future__ import annotations

import re

import pytest
import schemathesis
from hypothesis import HealthCheck, assume, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from support.service import Service, wait_until

pytestmark = pytest.mark.system

# What a description cannot say: that a text has something to speak, that a voice exists.
EXCLUDED = [positive_data_acceptance]
EMPTY_FIELD = re.compile(r"[?&][^=&]+=(?:[&']|$)")
MODES = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]


def asks_for_haste(case: schemathesis.Case) -> bool:
    """Return True for a request whose own `timeout` may have it answered with a 504."""
    fields = [part for part in (case.body, case.query) if isinstance(part, dict)]
    return any(isinstance(part.get("timeout"), int | float) and part["timeout"] < 30 for part in fields)


def is_too_long(case: schemathesis.Case) -> bool:
    """Return True for a URL that gets a 414, or a body a 413, which schemathesis does not know for refusals."""
    return len(case.as_curl_command()) > (7000 if case.method == "GET" else 60_000)


def leaves_a_field_empty(case: schemathesis.Case) -> bool:
    """Return True for a URL with `field=`, which is an absent field: schemathesis spells an empty object so, too."""
    return case.method == "GET" and EMPTY_FIELD.search(case.as_curl_command()) is not None


def check_all(service: Service, mode: GenerationMode, n_examples: int) -> set[str]:
    """Make requests of one kind for every operation; return what was tried."""
    tried = set()
    for found in schemathesis.openapi.from_url(f"{service.url}/openapi.json").get_all_operations():
        operation = found.ok()
        if mode is GenerationMode.NEGATIVE and not (operation.body or operation.query):
            # Nothing about it can be wrong: every name is one, known or not.
            continue

        @settings(max_examples=n_examples, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy(generation_mode=mode))
        def check(case: schemathesis.Case) -> None:
            assume(not asks_for_haste(case) and not is_too_long(case) and not leaves_a_field_empty(case))
            case.call_and_validate(excluded_checks=EXCLUDED, timeout=60)

        check()
        tried.add(f"{operation.method.upper()} {operation.path}")
    return tried


@pytest.mark.parametrize("mode", MODES)
def test_answers_are_what_the_description_says(tone: Service, mode: GenerationMode) -> None:
    n_tracebacks = tone.text_of_log().count("Traceback")
    tried = check_all(tone, mode, n_examples=15)
    assert "POST /v1/audio/speech" in tried
    if mode is GenerationMode.POSITIVE:
        assert {"GET /v1/models/{name}", "GET /workers", "GET /docs"} <= tried
    wait_until(tone.is_idle, 30.0, "idle")
    assert tone.text_of_log().count("Traceback") == n_tracebacks


@pytest.mark.drill
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.timeout(1200)
def test_many_answers_are_what_the_description_says(tone: Service, mode: GenerationMode) -> None:
    check_all(tone, mode, n_examples=500)
