"""What `render` speaks and what became of it: phrases by line, outcomes, the summary. Pure but for reading the file."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tts_service.errors import ExitCode, RequestFailed, UsageError


@dataclass(frozen=True)
class Phrase:
    """One line of the list."""

    line: int
    """From 1."""
    text: str


@dataclass(frozen=True)
class Outcome:
    """What became of a phrase."""

    phrase: Phrase
    state: Literal["rendered", "already there", "failed"]
    error: RequestFailed | None = None


def read_phrases(source: str) -> list[Phrase]:
    """Return the lines of a file, or of standard input ("-"), that are not blank."""
    try:
        data = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    except OSError as error:
        raise UsageError(f"{source}: cannot be read: {error.strerror}") from error
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise UsageError(f"{source}: not UTF-8 at byte {error.start}") from error
    phrases = [Phrase(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
    if not phrases:
        raise UsageError(f"{source}: there is no phrase in it; expected one a line")
    return phrases


def summary(outcomes: list[Outcome], n_evicted: int) -> list[str]:
    """Return the lines that tell what happened, failures first, in the order of the list."""
    failed = sorted((outcome for outcome in outcomes if outcome.error), key=lambda outcome: outcome.phrase.line)
    lines = [f"line {outcome.phrase.line}: {outcome.error.message}" for outcome in failed if outcome.error]
    if n_evicted:
        lines.append(f"{n_evicted} kept segments had to leave for these: gateway.cache_mib is too small for all")
    counts = Counter(outcome.state for outcome in outcomes)
    parts = [f"{counts[state]} {state}" for state in ("rendered", "already there", "failed")]
    return [*lines, f"{len(outcomes)} phrases: {', '.join(parts)}"]


def exit_code(outcomes: list[Outcome]) -> ExitCode:
    """Return BAD_INPUT where phrases cannot be spoken, FAILED where others could not be now."""
    errors = [outcome.error for outcome in outcomes if outcome.error]
    if not errors:
        return ExitCode.OK
    return ExitCode.BAD_INPUT if all(error.code.status < 500 for error in errors) else ExitCode.FAILED
