"""Bodies at random: each gets an answer that is right for it, and nothing of them stays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import psutil
import pytest

from support.load import at_once
from support.random_bodies import random_bodies
from support.service import Service, running

pytestmark = pytest.mark.system

# Everything that is allocated once is there after so many.
N_WARM = 200


def statuses(service: Service, bodies: Iterable[bytes], n_threads: int = 4) -> Counter[int]:
    """Send bodies, each on a connection of its own; return how often which status came."""

    def one(body: bytes) -> int:
        status, value, headers = service.post_raw(body)
        if status != 200:
            assert set(value["error"]) == {"message", "type", "param", "code"}, value
            assert len(value["error"]["message"]) < 700
        # A `timeout` of a millisecond is too short, and says so.
        too_short = status in (503, 504) and value["error"]["code"] in ("deadline_unreachable", "timed_out")
        assert status < 500 or too_short, (body, value)
        assert headers["X-Request-Id"]
        return status

    return Counter(at_once(one, list(bodies), n_threads=n_threads))


def check_nothing_stays(service: Service, n: int, seed: int) -> None:
    """Memory and threads of every process are after `n` bodies what they were before."""
    statuses(service, random_bodies(N_WARM, seed=0))
    service.wait_idle()
    before = {process.pid: (process.memory_info().rss, process.num_threads()) for process in service.processes()}
    n_tracebacks = service.text_of_log().count("Traceback")
    found = statuses(service, random_bodies(n, seed))
    assert found[200] > n / 50
    assert found[400] > n / 4
    service.wait_idle()
    # Whatever was sent, the log is text.
    log = service.log.read_bytes().decode("utf-8")
    assert log.count("Traceback") == n_tracebacks
    for pid, (rss, n_threads) in before.items():
        process = psutil.Process(pid)
        # Request threads are made as they are needed, and kept.
        assert process.num_threads() - n_threads <= 4, process
        assert process.memory_info().rss - rss < 24 << 20, process


def test_val_08_random_bodies_are_answered_and_leave_nothing_behind(tone: Service) -> None:
    check_nothing_stays(tone, 500, seed=1)


@pytest.mark.drill
@pytest.mark.timeout(1800)
def test_val_08_ten_thousand_random_bodies_are_answered_and_leave_nothing_behind() -> None:
    with running("--engine", "tone") as service:
        check_nothing_stays(service, 10_000, seed=2)
