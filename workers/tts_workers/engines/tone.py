"""The `tone` engine: no model, every sample known in advance. Pitch is the voice, length is the text.

It ships with the product for tests and capacity drills: it can cost a set amount of CPU a step, and a text can make it
crash, hang, leak, fail or answer late (see tone_faults.py) where the option `faults` allows that.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Sequence as SequenceOf
from itertools import pairwise
from typing import Annotated, Literal

import msgspec
import numpy as np
from msgspec import Meta

from tts_service.errors import Code, RequestFailed
from tts_service.protocol import EngineInfo, Job, Runtime, Voice, Word
from tts_workers.engines.base import Engine, EngineOptions, Output, Samples, Sequence
from tts_workers.engines.option_values import read_options
from tts_workers.engines.tone_faults import Faults

# 20 ms hold a whole number of periods of each, so that a spectrum of any such block shows whose audio it is.
VOICE_HZ = {f"hz{hz}": hz for hz in range(300, 1900, 100)}
SECONDS_PER_CHAR = 0.06
BLOCK_S = 0.25
AMPLITUDE = 0.3
NOISE = 0.002
FADE_S = 0.005
_WORD = re.compile(r"\S+")


class ToneOptions(msgspec.Struct, frozen=True):
    """Options of the pool that runs the engine."""

    stepping: Literal["turns", "batched"] = "turns"
    sample_rate_hz: Annotated[int, Meta(ge=8000, le=48000)] = 24000
    step_cost_s: Annotated[float, Meta(ge=0, le=10)] = 0.0
    """CPU time of one step, whatever the number of sequences in it."""
    step_wait_s: Annotated[float, Meta(ge=0, le=10)] = 0.0
    """Time of one step without work, on top of that: its speed then does not depend on what else the machine does."""
    load_s: Annotated[float, Meta(ge=0, le=600)] = 0.0
    faults: bool = False


class ToneSequence(Sequence):
    """Where in its tone a segment stands."""

    def __init__(self, job: Job, n_samples: int, faults: Faults) -> None:
        super().__init__(job)
        self.n_samples = n_samples
        self.block = 0
        self.faults = faults


class ToneEngine(Engine):
    """See the module."""

    thread_invariant = True
    divides_work = False

    def __init__(self, options: EngineOptions) -> None:
        super().__init__(options)
        self.tone = read_options(ToneOptions, options.values, "tone")

    @classmethod
    def check(cls, options: EngineOptions) -> None:
        read_options(ToneOptions, options.values, "tone")

    def load(self) -> None:
        time.sleep(self.tone.load_s)
        rate = self.tone.sample_rate_hz
        self.info = EngineInfo(
            name="tone",
            model_hash=hashlib.sha256(f"tone 1 {rate}".encode()).hexdigest(),
            sample_rate_hz=rate,
            voices=[Voice(id=name, name=f"Sine of {hz} Hz", languages=["en"]) for name, hz in VOICE_HZ.items()],
            default_voice="hz400",
            max_segment_chars=2000,
            scripts=[],
            stepping=self.tone.stepping,
            longest_step_s=self.tone.step_cost_s + self.tone.step_wait_s + 0.01,
            thread_invariant=self.thread_invariant,
            min_speed=0.25,
            max_speed=4.0,
            mode_invariant=True,
            # The length of the text is the length of the tone.
            reads=["all"],
            word_times=True,
        )

    def start(self, job: Job) -> ToneSequence:
        self.check_voice(job)
        if not job.text.strip():
            raise RequestFailed(Code.UNSUPPORTED_TEXT, "there is nothing to speak in the text", param="input")
        faults = Faults.parse(job.text if self.tone.faults else "", job.key.attempt)
        faults.on_start()
        spoken = faults.spoken(job.text) if self.tone.faults else job.text
        seconds = len(spoken) * SECONDS_PER_CHAR / job.speed
        sequence = ToneSequence(job, max(1, round(seconds * self.tone.sample_rate_hz)), faults)
        sequence.words = words_of(job.text, spoken, sequence.n_samples)
        return sequence

    def step(self, sequences: SequenceOf[Sequence]) -> list[Output]:
        burn(self.tone.step_cost_s)
        if self.tone.step_wait_s:
            time.sleep(self.tone.step_wait_s)
        return [self._advance(sequence) for sequence in sequences if isinstance(sequence, ToneSequence)]

    def release(self, sequence: Sequence) -> None:
        pass

    def warm_up_text(self, voice: str = "") -> str:
        # One step a voice: an engine that costs CPU time would otherwise take long to be warm.
        return "Hm."

    def runtime(self) -> Runtime:
        return Runtime(intra_op_threads=self.options.n_threads, spinning=False)

    def _advance(self, sequence: ToneSequence) -> Output:
        first = sequence.block * self._block
        last = min(first + self._block, sequence.n_samples)
        if (error := sequence.faults.on_step(first / self.tone.sample_rate_hz)) is not None:
            return Output(sequence, np.zeros(0, np.float32), error=error)
        samples = sequence.faults.spoil(self._tone(sequence, first, last))
        sequence.block += 1
        return Output(sequence, samples, finished=last == sequence.n_samples)

    def _tone(self, sequence: ToneSequence, first: int, last: int) -> Samples:
        """Return samples `first` to `last`; the random draws are keyed by (seed, block), never by what ran before."""
        rate = self.tone.sample_rate_hz
        index = np.arange(first, last)  # (n,)
        draws = np.random.Generator(np.random.Philox(key=[sequence.job.seed, sequence.block]))
        cycles = (VOICE_HZ[sequence.job.voice] * index % rate) / rate + (sequence.job.seed % 997) / 997
        wave = AMPLITUDE * np.sin(2 * np.pi * cycles) + NOISE * draws.uniform(-1, 1, len(index))
        edge = np.minimum(index + 1, sequence.n_samples - index) / (FADE_S * rate)
        return (wave * np.minimum(1, edge)).astype(np.float32)

    @property
    def _block(self) -> int:
        return int(BLOCK_S * self.tone.sample_rate_hz)


def words_of(text: str, spoken: str, n_samples: int) -> tuple[Word, ...]:
    """Return the words: every character lasts equally long, and spaces sound with the word before them."""
    if spoken != text:
        # Its orders are not spoken.
        return ()
    spans = [match.span() for match in _WORD.finditer(text)]
    edges = [0, *(start * n_samples // len(text) for start, _ in spans[1:]), n_samples]
    return tuple(Word(*span, *edge) for span, edge in zip(spans, pairwise(edges), strict=True))


def burn(cpu_s: float) -> None:
    """Use `cpu_s` seconds of this thread's CPU time."""
    end = time.thread_time() + cpu_s
    while time.thread_time() < end:
        pass
