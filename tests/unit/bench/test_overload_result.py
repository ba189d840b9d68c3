"""What the overload scenario holds against a server."""

from __future__ import annotations

import pytest

from support.heard import heard, refused
from tts_service.bench.callers import Heard
from tts_service.bench.family import Member
from tts_service.bench.overload import BELOW, OVER, OverloadResult, Stretch
from tts_service.bench.scenario import About

CALM = Stretch(BELOW, [heard(first_audio_s=0.1)] * 3)
MIB = 1 << 20


def member(rss_mib: int = 40, name: str = "tts-workers", pid: int = 7) -> Member:
    return Member(name, pid, rss_mib * MIB, 3, 20)


def result(*over: Heard, before: Member | None = None, after: Member | None = None) -> OverloadResult:
    return OverloadResult(
        about=About.here(None),
        load="some load",
        max_wait_s=2.0,
        max_refusal_s=0.05,
        stretches=[CALM, Stretch(OVER, list(over)), CALM],
        before=[before] if before else [],
        after=[after] if after else [],
    )


GOOD = (heard(first_audio_s=1.5), refused(), refused())


def test_prompt_refusals_and_admitted_ones_that_wait_as_allowed_hold() -> None:
    assert result(*GOOD, before=member(), after=member(41)).faults() == []


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([heard()], "nothing was refused"),
        ([*GOOD, refused(retry_after="")], "1 refusals without Retry-After"),
        ([*GOOD, refused(retry_after="0")], "1 refusals without Retry-After"),
        ([*GOOD, refused(should_retry="")], "1 refusals without x-should-retry"),
        ([refused(total_s=0.2)], "a refusal takes 200 ms"),
        ([heard(first_audio_s=9.0), refused()], "first audio of admitted requests takes 9.00 s"),
        ([*GOOD, heard(n_dry=1)], "1 underruns of admitted streams"),
        ([*GOOD, heard(status=500, first_audio_s=None, problem="status 500: oops")], "a request failed: status 500"),
    ],
)
def test_what_does_not_hold_is_named(answers: list[Heard], words: str) -> None:
    (fault,) = result(*answers).faults()
    assert words in fault


def test_a_process_that_grows_is_named() -> None:
    (fault,) = result(*GOOD, before=member(40), after=member(60)).faults()
    assert "tts-workers grew from 40.0 to 60.0 MiB" in fault
    assert result(*GOOD, before=member(40), after=member(60, pid=8)).faults() == [], "another process"
