"""Every contract test runs against every engine in support/engine_cases.py; each is loaded once."""

from __future__ import annotations

import functools

import pytest

from support.engine_cases import CASES, EngineCase
from tts_workers.engines import Engine

_loaded = functools.cache(EngineCase.loaded)
# What an engine does with a text does not depend on its configuration.
_FIRST_OF_EACH = {case.engine: case for case in reversed(CASES.values())}


@pytest.fixture(params=CASES.values(), ids=CASES.keys(), scope="session")
def case(request: pytest.FixtureRequest) -> EngineCase:
    """Each configuration in turn."""
    chosen: EngineCase = request.param
    return chosen


@pytest.fixture(scope="session")
def engine(case: EngineCase) -> Engine:
    """Its engine, loaded, and used by many tests: what one leaves behind would be seen by the next."""
    return _loaded(case)


@pytest.fixture(params=_FIRST_OF_EACH.values(), ids=_FIRST_OF_EACH.keys(), scope="session")
def reader(request: pytest.FixtureRequest) -> Engine:
    """One configuration of each engine."""
    return _loaded(request.param)


@pytest.fixture(scope="session")
def another(case: EngineCase) -> Engine:
    """A second instance of the same engine."""
    return case.loaded()
