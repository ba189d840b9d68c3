"""When a server of one's own can be measured: nothing is starting any more."""

from __future__ import annotations

import pytest

from tts_service.bench.own_server import are_up

ORDINARY = {"state": "ready", "last_exit": "", "wide": False}


@pytest.mark.parametrize(
    ("state", "last_exit", "up"),
    [
        ("dead", "", False),
        ("loading", "", False),
        ("warming", "", False),
        ("ready", "", True),
        ("dead", "with it all need 300 MiB, workers.memory_total_mib is 200", True),
    ],
)
def test_a_wide_worker_is_waited_for_unless_it_has_ended(state: str, last_exit: str, up: bool) -> None:
    assert are_up([ORDINARY, {"state": state, "last_exit": last_exit, "wide": True}]) is up


def test_without_a_wide_worker_there_is_nothing_to_wait_for() -> None:
    assert are_up([ORDINARY, ORDINARY])
