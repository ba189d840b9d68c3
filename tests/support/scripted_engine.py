"""An engine that does what a test has written down for each request, failures included, and watches how it is used."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass
from typing import Literal

import numpy as np

from support import pools
from tts_service.errors import Code, RequestFailed
from tts_service.protocol import Job, Runtime
from tts_workers.engines.base import Engine, EngineOptions, Output, Samples, Sequence

REFUSAL = RequestFailed(Code.UNSUPPORTED_TEXT, "not this text", param="input")

Trouble = Literal["none", "error", "raise", "nan", "nothing"]


@dataclass(frozen=True)
class Script:
    """What happens to one request."""

    blocks: tuple[int, ...] = (4, 4, 2)
    """Samples that each step makes."""
    start_raises: Exception | None = None
    trouble: Trouble = "none"
    """What the step at `at` does: report an error for this sequence, raise, make not-a-number, leave it out."""
    at: int = 0
    raises: Exception | None = None
    """What "raise" raises."""

    @property
    def n_samples(self) -> int:
        """Of the whole segment."""
        return sum(self.blocks)


class ScriptedSequence(Sequence):
    """Where in its script a segment stands."""

    def __init__(self, job: Job, script: Script) -> None:
        super().__init__(job)
        self.script = script
        self.step = 0


class ScriptedEngine(Engine):
    """Follows `scripts`, which are found by request id; a request without one follows the default script."""

    def __init__(self, stepping: Literal["turns", "batched"] = "turns") -> None:
        super().__init__(EngineOptions(None, 1))
        self.info = pools.engine(stepping=stepping, sample_rate_hz=1000)
        self.scripts: dict[str, Script] = {}
        self.held: list[Sequence] = []
        """Started and not released."""
        self.steps: list[list[str]] = []
        """The requests of every call of `step`."""

    @classmethod
    def check(cls, options: EngineOptions) -> None:
        """Accept anything."""

    def load(self) -> None:
        """Nothing to load."""

    def start(self, job: Job) -> ScriptedSequence:
        """Start or raise, as written."""
        script = self.scripts.get(job.key.request_id, Script())
        if script.start_raises is not None:
            raise script.start_raises
        sequence = ScriptedSequence(job, script)
        self.held.append(sequence)
        return sequence

    def step(self, sequences: SequenceOf[Sequence]) -> list[Output]:
        """Make the next block of each, or the trouble that is written for it."""
        mine = [sequence for sequence in sequences if isinstance(sequence, ScriptedSequence)]
        assert len(mine) == 1 or (mine and self.info.stepping == "batched"), "a wrong number of sequences in one step"
        assert all(sequence in self.held for sequence in mine), "stepped after its release"
        self.steps.append([sequence.job.key.request_id for sequence in mine])
        outputs = [self._advance(sequence) for sequence in mine]
        # In no particular order: who reads the outputs has to look whose they are.
        return [output for output in reversed(outputs) if output is not None]

    def release(self, sequence: Sequence) -> None:
        """Forget; a second time is a fault of the caller."""
        assert sequence in self.held, "released twice, or never started"
        self.held.remove(sequence)

    def runtime(self) -> Runtime:
        """As asked for."""
        return Runtime(self.options.n_threads, spinning=False)

    def _advance(self, sequence: ScriptedSequence) -> Output | None:
        script, step = sequence.script, sequence.step
        trouble = script.trouble if step == script.at else "none"
        if trouble == "raise":
            raise script.raises or ValueError("as written")
        if trouble == "error":
            return Output(sequence, np.zeros(0, np.float32), error=REFUSAL)
        if trouble == "nothing":
            return None
        first = sum(script.blocks[:step])
        samples = samples_of(sequence.job, first, first + script.blocks[step])
        if trouble == "nan":
            samples = samples * np.float32("nan")
        sequence.step += 1
        return Output(sequence, samples, finished=sequence.step == len(script.blocks))


def samples_of(job: Job, first: int, last: int) -> Samples:
    """Return the samples that a job's audio has there: each tells its position, and the seed says whose it is."""
    return np.arange(first, last, dtype=np.float32) + np.float32(1000 * job.seed)  # (last - first,)
