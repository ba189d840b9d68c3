"""The list of `render`: read strictly, told of by line, and a named exit code."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from support.pools import job, pool
from tts_service.cli.phrases import Outcome, Phrase, exit_code, read_phrases, summary
from tts_service.cli.renderers import CannotKeep, StrictCache
from tts_service.errors import Code, ExitCode, RequestFailed, UsageError
from tts_service.gateway.memory_store import MemoryStore


def failed(line: int, code: Code) -> Outcome:
    """Return the outcome of a line that could not be spoken."""
    return Outcome(Phrase(line, "x"), "failed", RequestFailed(code, f"no {line}"))


def test_lines_keep_their_numbers_and_blank_ones_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "list").write_bytes("\ufeffOne.\r\n\r\n  Zwei für Dich. \n\n".encode())
    assert read_phrases(str(tmp_path / "list")) == [Phrase(1, "One."), Phrase(3, "Zwei für Dich.")]


def test_standard_input_is_a_list_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"One.\nTwo.")))
    assert [phrase.text for phrase in read_phrases("-")] == ["One.", "Two."]


@pytest.mark.parametrize(
    ("content", "complaint"), [(b" \n\n", "no phrase"), (b"a\n\xff", "not UTF-8 at byte 2"), (None, "cannot be read")]
)
def test_a_list_that_cannot_be_read_is_refused(tmp_path: Path, content: bytes | None, complaint: str) -> None:
    if content is not None:
        (tmp_path / "list").write_bytes(content)
    with pytest.raises(UsageError, match=complaint):
        read_phrases(str(tmp_path / "list"))


def test_the_summary_names_the_lines_that_failed_in_their_order() -> None:
    outcomes = [
        failed(9, Code.UNSUPPORTED_TEXT),
        Outcome(Phrase(1, "x"), "rendered"),
        failed(2, Code.NOTHING_TO_SPEAK),
        Outcome(Phrase(3, "x"), "already there"),
    ]
    assert summary(outcomes, 0) == [
        "line 2: no 2",
        "line 9: no 9",
        "4 phrases: 1 rendered, 1 already there, 2 failed",
    ]
    assert "7 kept segments had to leave" in summary(outcomes[1:2], 7)[0]


def test_exit_codes_tell_bad_lines_from_failures() -> None:
    good = Outcome(Phrase(1, "x"), "rendered")
    assert exit_code([good]) == ExitCode.OK
    assert exit_code([good, failed(2, Code.UNSUPPORTED_TEXT)]) == ExitCode.BAD_INPUT
    assert exit_code([failed(2, Code.UNSUPPORTED_TEXT), failed(3, Code.ENGINE_FAILED)]) == ExitCode.FAILED


def test_what_cannot_be_kept_ends_the_rendering() -> None:
    cache = StrictCache(MemoryStore(4096))
    cache.put(job(), pool(), np.zeros(100, np.float32))
    with pytest.raises(CannotKeep, match="could not be kept"):
        cache.put(job(seed=9), pool(), np.zeros(2000, np.float32))
