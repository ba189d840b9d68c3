"""When each segment of a request is due."""

from __future__ import annotations

from typing import Any

import pytest

from tts_service.gateway.pacing import BATCH_DELAY_S, Pace, priority_delay_s


def pace(n_chars: list[int], **changes: Any) -> Pace:
    """Return the pace of a request that came at 100 s: a second to its first audio, 0.1 s of audio a character."""
    fields: dict[str, Any] = {
        "arrived_s": 100.0,
        "streamed": True,
        "target_s": 1.0,
        "delay_s": 0.0,
        "work_s": 4.0,
        "slack": 3.0,
        "audio_s_per_char": 0.1,
    }
    made = Pace(**fields | changes)
    assert [made.add(chars) for chars in n_chars] == list(range(len(n_chars)))
    return made


def deadlines(made: Pace, n: int) -> list[float]:
    return [made.deadline_s(index) for index in range(n)]


def test_a_streams_later_segments_are_due_when_the_listener_runs_out_of_audio() -> None:
    assert deadlines(pace([20, 30, 10]), 3) == pytest.approx([101.0, 103.0, 106.0])


def test_all_segments_of_an_answer_in_one_piece_are_due_together() -> None:
    assert deadlines(pace([20, 30, 10], streamed=False), 3) == pytest.approx([113.0] * 3)


def test_the_real_length_of_a_segment_moves_those_after_it_by_what_is_known_now() -> None:
    made = pace([20, 30, 10])
    made.ended(0, 4.0)
    # Twice as slow as expected: 0.2 s a character.
    assert deadlines(made, 3) == pytest.approx([101.0, 105.0, 111.0])
    made.ended(1, 1.0)
    assert deadlines(made, 3) == pytest.approx([101.0, 105.0, 106.0])


def test_the_listeners_clock_starts_with_the_first_audio() -> None:
    made = pace([20, 30])
    assert made.delivered(105.0, 0.0, waited=True) == 0.0
    assert made.deadline_s(1) == pytest.approx(107.0)


def test_audio_that_comes_too_late_was_missing_for_so_long_and_the_clock_stood_still() -> None:
    made = pace([20, 30])
    made.delivered(101.0, 0.0, waited=True)
    assert made.delivered(102.0, 1.5, waited=True) == 0.0
    assert made.delivered(105.0, 2.0, waited=True) == pytest.approx(2.0)
    assert made.deadline_s(1) == pytest.approx(105.0)
    assert made.delivered(105.0, 2.0, waited=True) == 0.0


def test_a_listener_that_takes_its_time_has_run_dry_of_nothing() -> None:
    made = pace([20, 30])
    made.delivered(101.0, 0.0, waited=True)
    assert made.delivered(200.0, 2.0, waited=False) == 0.0
    assert made.deadline_s(1) == pytest.approx(103.0)


@pytest.mark.parametrize(("priority", "delay_s"), [(0, 0.0), (1, -5.0), (10, -50.0), (-10, 50.0), ("batch", 3600.0)])
def test_a_priority_adds_a_constant_to_every_deadline(priority: int | str, delay_s: float) -> None:
    assert priority_delay_s(priority) == delay_s
    for streamed in (True, False):
        usual = deadlines(pace([20, 30], streamed=streamed), 2)
        moved = deadlines(pace([20, 30], streamed=streamed, delay_s=priority_delay_s(priority)), 2)
        assert moved == pytest.approx([deadline_s + delay_s for deadline_s in usual])


def test_batch_work_ages_like_all_other() -> None:
    early_batch = pace([20], delay_s=BATCH_DELAY_S)
    late = pace([20], arrived_s=100.0 + BATCH_DELAY_S + 1.0)
    assert early_batch.deadline_s(0) < late.deadline_s(0)
