"""The engines that the contract tests run against, and how to have one speak. A new engine adds a line to CASES."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from support.piper_voices import cache_directory, joe_directory
from support.pools import job
from tts_service.protocol import Job
from tts_workers.engines import Engine, EngineOptions, engine_class
from tts_workers.engines.base import Output, Samples, Sequence

WITHOUT_LIMIT = 10**9
TEXTS = (
    "Hello there.",
    "The quick brown fox, number 7, jumps over the lazy dog.",
    "Please send 42 copies to Smith & Sons; it's urgent!",
    "Yes?",
)


@dataclass(frozen=True)
class EngineCase:
    """One engine in one configuration."""

    name: str
    engine: str
    n_threads: int = 1
    options: dict[str, Any] = field(default_factory=dict, hash=False)
    models: Path | None = None
    expected_threads: int = 1
    """Live threads of a process that has the engine warm and nothing else: what its documentation says."""
    examples: int = 5
    """Of the property tests: as many as its speed allows."""
    jobs: int = 150
    """Of the process that is watched: as many as its speed allows, in three thirds."""

    def loaded(self) -> Engine:
        """Return a fresh engine with its models loaded."""
        made = engine_class(self.engine)(EngineOptions(self.models, self.n_threads, self.options))
        made.load()
        return made


def _piper(n_threads: int) -> EngineCase:
    # One crew for all voices, of the calling thread and n - 1 more.
    return EngineCase(
        f"piper-{n_threads}",
        "piper",
        n_threads,
        options={"cache": str(cache_directory())},
        models=joe_directory(),
        expected_threads=n_threads,
        examples=3,
        jobs=45,
    )


CASES = {
    case.name: case
    for case in (
        EngineCase("tone-turns", "tone", examples=30),
        EngineCase("tone-batched", "tone", options={"stepping": "batched"}, examples=30),
        # onnxruntime's pool has the calling thread and n - 1 more; numpy has one thread, the calling one.
        EngineCase("hibari-1", "hibari", n_threads=1, expected_threads=1),
        EngineCase("hibari-2", "hibari", n_threads=2, expected_threads=2),
        _piper(1),
        _piper(2),
    )
}


@dataclass
class Spoken:
    """What an engine made of one job."""

    samples: Samples
    """(n_samples,) float32."""
    lengths: list[int]
    """Samples of each step."""


def job_for(engine: Engine, text: str = TEXTS[0], **changes: Any) -> Job:
    """Return a job with the engine's default voice; fields may be changed."""
    fields = {"voice": engine.info.default_voice, "generation": "", "max_samples": WITHOUT_LIMIT, "language": ""}
    return job(text=text, **(fields | changes))


def speak(engine: Engine, spoken: Job, *, check: bool = True) -> Spoken:
    """Run a job alone to its end; raises what the engine reports. `check` looks at every output on the way."""
    sequence = engine.start(spoken)
    parts: list[Samples] = []
    finished = False
    while not finished:
        output = step_alone(engine, sequence)
        if check:
            check_output(output)
        parts.append(output.samples)
        finished = output.finished
    engine.release(sequence)
    return Spoken(np.concatenate(parts), [len(part) for part in parts])


def step_alone(engine: Engine, sequence: Sequence) -> Output:
    """Make one step of one sequence; raises the error that its output reports."""
    (output,) = engine.step([sequence])
    assert output.sequence is sequence
    if output.error is not None:
        raise output.error
    return output


def check_output(output: Output) -> None:
    """Assert what base.py promises of the samples of any step."""
    assert output.samples.dtype == np.float32
    assert output.samples.ndim == 1
    assert np.isfinite(output.samples).all()
    assert np.abs(output.samples).max(initial=0.0) <= 1.0
