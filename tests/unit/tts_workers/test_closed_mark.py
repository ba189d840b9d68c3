"""What `drain` has said outlives the process that was told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tts_workers.closed_mark import ClosedMark


def test_what_was_kept_is_known_to_the_next_life(tmp_path: Path) -> None:
    assert not ClosedMark(tmp_path).is_set()
    for closed in (True, True, False, False):
        ClosedMark(tmp_path).keep(closed=closed)
        assert ClosedMark(tmp_path).is_set() is closed


def test_a_mark_of_an_earlier_life_is_told_with_the_way_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ClosedMark(tmp_path).keep(closed=True)
    assert caplog.text == ""
    assert ClosedMark(tmp_path).is_set()
    assert "tts-service drain --undo" in caplog.text


def test_a_directory_that_cannot_be_written_to_is_told_and_no_failure(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ClosedMark(tmp_path / "gone").keep(closed=True)
    assert "cannot keep that the service is closed" in caplog.text
