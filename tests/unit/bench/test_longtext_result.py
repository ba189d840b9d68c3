"""What the longtext scenario holds against a server."""

from __future__ import annotations

import pytest

from support.heard import heard
from tts_service.bench.longtext import LongtextResult, Speed
from tts_service.bench.scenario import About


def result(one_s: float, two_s: float, digest: str = "abc", problem: str = "") -> LongtextResult:
    speeds = [
        Speed(n, streamed, [heard(total_s=total_s, digest=digest if n == 2 else "abc", problem=problem)] * 3)
        for n, total_s in ((1, one_s), (2, two_s))
        for streamed in (False, True)
    ]
    return LongtextResult(About.here(None), "a text", 0.6, speeds)


def test_two_workers_that_need_little_more_than_half_of_the_time_hold() -> None:
    assert result(2.0, 1.1).faults() == []
    assert [row[3] for row in result(2.0, 1.1).tables()[0].rows] == ["1.00", "1.00", "0.55", "0.55"]


def test_two_workers_that_are_little_faster_than_one_do_not() -> None:
    faults = result(2.0, 1.6).faults()
    assert faults == [
        f"2 workers, {how}: takes 0.80 of the time of one worker, 0.6 is the most"
        for how in ("in one piece", "streamed")
    ]


def test_audio_that_depends_on_the_number_of_workers_is_a_fault() -> None:
    assert "the audio depends on the number of workers" in result(2.0, 1.0, digest="x").faults()


@pytest.mark.parametrize("problem", ["status 503: full"])
def test_a_failed_request_is_a_fault(problem: str) -> None:
    assert result(2.0, 1.0, problem=problem).faults()[0] == f"1 workers, in one piece: {problem}"
