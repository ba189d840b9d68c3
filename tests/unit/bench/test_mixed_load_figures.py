"""The figures of the mix scenario, and what it holds against a server."""

from __future__ import annotations

import msgspec
import pytest

from support.heard import heard, refused, unanswered
from tts_service.bench.callers import Heard
from tts_service.bench.mixed_load import MixResult
from tts_service.bench.mixed_load_figures import Cell, gain, lines
from tts_service.bench.scenario import About

CELL = Cell(
    order="deadline",
    with_book=False,
    heard=[],
    wall_s=30.0,
    audio_s=150.0,
    busy=0.8,
    server_underruns=0.0,
    server_dry_s=0.0,
)


def cell(*answers: Heard, order: str = "deadline", with_book: bool = False, **changes: float) -> Cell:
    return msgspec.structs.replace(CELL, order=order, with_book=with_book, heard=list(answers), **changes)


def result(*cells: Cell, min_gain: float = 3.0) -> MixResult:
    return MixResult(About.here(None), "some load", min_gain, list(cells))


def firsts(*times_s: float) -> list[Heard]:
    return [heard(first_audio_s=time_s) for time_s in times_s]


def test_rounds_of_the_same_kind_are_one_line() -> None:
    found = lines([
        cell(*firsts(0.1, 0.2)),
        cell(*firsts(0.5), with_book=True),
        cell(*firsts(0.3), busy=0.4, wall_s=10.0),
    ])  # fmt: skip
    assert [(line.with_book, line.n_offered) for line in found] == [(False, 3), (True, 1)]
    assert sorted(found[0].first_audio_s) == [0.1, 0.2, 0.3]
    assert found[0].busy == pytest.approx((0.8 * 30 + 0.4 * 10) / 40)


def test_who_was_never_answered_counts_for_as_long_as_it_waited() -> None:
    (line,) = lines([cell(*firsts(0.1), unanswered(total_s=12.0))])
    assert line.first_audio_s == [0.1, 12.0]
    assert (line.n_unanswered, line.n_refused, line.problems) == (1, 0, [])


def test_a_refusal_is_counted_and_not_timed() -> None:
    (line,) = lines([cell(*firsts(0.1), refused())])
    assert (line.n_offered, line.n_refused, line.first_audio_s, line.problems) == (2, 1, [0.1], [])


def test_a_failure_is_a_problem_and_a_fault() -> None:
    broken = heard(status=500, first_audio_s=None, problem="status 500: oops")
    (line,) = lines([cell(broken)])
    assert (line.problems, line.first_audio_s) == (["status 500: oops"], [])
    assert result(cell(broken)).faults() == ["deadline, without the book: a request failed: status 500: oops"]


def test_a_stream_that_hung_up_in_the_middle_counts_with_its_first_audio() -> None:
    (line,) = lines([cell(heard(first_audio_s=0.4, hung_up=True, problem="hung up"))])
    assert (line.first_audio_s, line.n_unanswered, line.problems) == ([0.4], 0, [])


def test_the_gain_compares_what_is_beside_the_book() -> None:
    found = lines([
        cell(*firsts(1.0), with_book=True),
        cell(*firsts(5.0), order="requests", with_book=True),
        cell(*firsts(1.0), order="segments"),
    ])  # fmt: skip
    assert gain(found, "requests") == pytest.approx(5.0)
    assert gain(found, "segments") is None
    assert gain(found, "deadline") is None


def test_too_small_a_gain_is_a_fault() -> None:
    cells = (cell(*firsts(1.0), with_book=True), cell(*firsts(2.9), order="requests", with_book=True))
    (fault,) = result(*cells).faults()
    assert "2.90 times better" in fault
    assert result(*cells, min_gain=2.0).faults() == []


def test_underruns_are_a_fault_of_the_deadline_order_only() -> None:
    dry = heard(n_dry=2, dry_s=0.5)
    (fault,) = result(cell(dry)).faults()
    assert "2 underruns of one-liners" in fault
    assert result(cell(dry, order="requests")).faults() == []
    assert len(result(cell(dry, order="as it is")).faults()) == 1
