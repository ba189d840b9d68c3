"""The interface between a synthesis process and an engine. An engine runs on the process's one compute thread."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tts_service.allowed import shorten
from tts_service.errors import Code, RequestFailed
from tts_service.protocol import EngineInfo, Job, Runtime, Word

Samples = npt.NDArray[np.float32]

NO_SAMPLES: Samples = np.zeros(0, np.float32)


@dataclass(frozen=True)
class EngineOptions:
    """What a pool's settings say about its engine."""

    models: Path | None
    """Directory of model files."""
    n_threads: int
    """Intra-op threads, the calling one included."""
    values: dict[str, bool | int | float | str] = field(default_factory=dict)
    """Options of the particular engine."""


class Sequence:
    """A segment in progress inside an engine; engines subclass it with their own state."""

    words: tuple[Word, ...] = ()
    """All of the segment's, with its last step at the latest; of engines whose `info` has `word_times`."""

    def __init__(self, job: Job) -> None:
        self.job = job


@dataclass(frozen=True)
class Output:
    """What one step made for one sequence."""

    sequence: Sequence
    samples: Samples
    """(n_samples,) float32 mono in [-1, 1], in order, from the segment's first sample on; may be empty."""
    finished: bool = False
    error: RequestFailed | None = None
    """Set where this sequence cannot go on; the others can."""


class Engine(ABC):
    """Turns text into samples, step by step.

    A constructor stores; `load` makes `info` valid. The samples of a job depend on the job alone: never on its
    neighbours, on load or on time. All methods are called from one thread.
    """

    info: EngineInfo
    preferred_threads = 1
    """Intra-op threads where the settings name none."""
    thread_invariant = False
    """As in `info`, for those who ask before anything is loaded."""
    divides_work = True
    """False where more threads than one are of no use."""

    def __init__(self, options: EngineOptions) -> None:
        self.options = options

    @classmethod
    @abstractmethod
    def check(cls, options: EngineOptions) -> None:
        """Raise SettingsError where `options` cannot be right. Loads nothing."""

    @abstractmethod
    def load(self) -> None:
        """Load the models. EngineBroken where that is impossible."""

    @abstractmethod
    def start(self, job: Job) -> Sequence:
        """Begin a segment; RequestFailed where it cannot be spoken, VOICE_NOT_FOUND where there is no such voice."""

    @abstractmethod
    def step(self, sequences: SequenceOf[Sequence]) -> list[Output]:
        """Advance the sequences by one step, no longer than `info.longest_step_s` on a free CPU.

        Gets one sequence where `info.stepping` is "turns", all active ones where it is "batched". Returns an output
        for each. An exception other than EngineBroken is taken for a failure of all the sequences in the call.
        """

    @abstractmethod
    def release(self, sequence: Sequence) -> None:
        """Forget a sequence, finished or not. Never raises."""

    def set_width(self, n_threads: int) -> None:
        """Compute on so many of the budget's threads from the next step on; for engines that are `thread_invariant`."""
        return

    def check_voice(self, job: Job) -> None:
        """Raise RequestFailed where the engine has no voice of the job's name."""
        if all(voice.id != job.voice for voice in self.info.voices):
            message = f"voice {shorten(job.voice)}: engine {self.info.name} has no such voice"
            raise RequestFailed(Code.VOICE_NOT_FOUND, message, param="voice")

    @abstractmethod
    def runtime(self) -> Runtime:
        """Return what the loaded engine computes with, asked of its sessions, for the comparison with the plan."""

    def warm_up_voices(self) -> list[str]:
        """Return the voices whose synthesis brings all lazy parts of the engine into being."""
        return [voice.id for voice in self.info.voices]

    def warm_up_text(self, voice: str = "") -> str:
        """Return a text for that; `voice` is one of them, "" the default one."""
        return "The quick brown fox, number 7, jumps over the lazy dog."
