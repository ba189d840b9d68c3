"""A segment in progress: its parts of phonemes one after the other, each in steps of bounded length.

Blocks and tiles of a step run side by side on the worker's threads. Which frames go together does not depend on their
number.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from tts_service.errors import Code, RequestFailed
from tts_service.protocol import Job
from tts_workers.engines.base import NO_SAMPLES, Samples, Sequence
from tts_workers.engines.piper.crew import Crew
from tts_workers.engines.piper.ids import Alphabet, Part
from tts_workers.engines.piper.phonemes import Reader
from tts_workers.engines.piper.synthesis import (
    Facts,
    Floats,
    Run,
    Scales,
    Upsampled,
    decode,
    draws,
    encode,
    latents,
    speak_whole,
    text_inputs,
    upsample,
)
from tts_workers.engines.piper.voice import VoiceFile
from tts_workers.engines.piper.windows import TILE_FRAMES, Span, blocks, tiles
from tts_workers.engines.piper.words import WordFinder, WordTimes, word_spans

# Draws in the bank of a voice that runs whole; the same number as in its graph.
BANK_SIZE = 1 << 20


@dataclass(frozen=True)
class Model:
    """A loaded voice, with all its speakers."""

    voice: VoiceFile
    reader: Reader
    finder: WordFinder
    alphabet: Alphabet
    facts: Facts
    run: Run
    crew: Crew
    scales: Scales
    """At speed 1."""

    def parts(self, text: str) -> tuple[list[Part], WordTimes]:
        """Return the ids of a text, in parts, and what takes its words' times. RequestFailed where it has no sound."""
        sentences = self.reader.sentences(text)
        # A voice that runs whole says nothing of durations.
        spans = [] if self.facts.whole_because else word_spans(text)
        owners = self.finder.owners(text, spans, sentences)
        found = [part for pair in zip(sentences, owners, strict=True) for part in self.alphabet.owned_parts(*pair)]
        return found, WordTimes(spans)


class PiperSequence(Sequence):
    """Call `step` until `finished`."""

    def __init__(self, job: Job, model: Model, speaker: int, parts: list[Part], times: WordTimes) -> None:
        super().__init__(job)
        self._model = model
        self._speaker = speaker
        self._parts = deque(parts)
        self._times = times
        self._part = 0
        self._n_made = 0
        self._latents: Floats | None = None
        self._blocks: deque[Span] = deque()
        self._tiles: deque[tuple[Upsampled, Span]] = deque()

    @property
    def finished(self) -> bool:
        """True when nothing is left to be made."""
        return not (self._parts or self._blocks or self._tiles)

    def step(self) -> Samples:
        """Run the encoder, or on each thread the body on a block, or the tail on some tiles; return the new samples.

        RequestFailed where the segment grows longer than its job may.
        """
        if self._tiles:
            samples = self._decode()
        elif self._blocks:
            samples = self._upsample()
        elif self._model.facts.whole_because:
            samples = self._speak_whole()
        else:
            samples = self._encode()
        self._n_made += len(samples)
        return samples

    def _draws(self, stream: int, shape: tuple[int, ...]) -> Floats:
        return draws(self.job.seed, 2 * self._part + stream, shape)

    def _encode(self) -> Samples:
        model, part = self._model, self._parts.popleft()
        ids = part.ids
        noise = self._draws(0, (1, model.facts.noise_channels, len(ids)))
        prior = encode(model.run, text_inputs(ids, model.scales, self._speaker), noise, self.job.speed)
        if self._n_made + prior.n_frames * model.facts.hop > self.job.max_samples:
            raise RequestFailed(Code.AUDIO_TOO_LONG, "the segment is longer than a segment may be", param="input")
        self._times.add(part.owners, prior.durations * model.facts.hop, self._n_made)
        self.words = self._times.words()
        frame_noise = self._draws(1, (prior.n_channels, prior.n_frames))
        self._latents = latents(prior, model.scales.noise, frame_noise)
        self._blocks.extend(blocks(prior.n_frames, model.facts.longest_block, streamed=self.job.streamed))
        self._part += 1
        return NO_SAMPLES

    def _upsample(self) -> Samples:
        z, facts = self._latents, self._model.facts
        assert z is not None
        # A stream's first sound is not kept waiting for larger blocks beside its own.
        n_blocks = 1 if self._is_first else self._model.crew.width
        spans = [self._blocks.popleft() for _ in range(min(n_blocks, len(self._blocks)))]
        done = self._model.crew.map(lambda span: upsample(self._model.run, facts, z, span, self._speaker), spans)
        for span, upsampled in zip(spans, done, strict=True):
            self._tiles.extend((upsampled, tile) for tile in tiles(span))
        return NO_SAMPLES

    def _decode(self) -> Samples:
        model, facts = self._model, self._model.facts
        assert self._latents is not None
        n_frames = self._latents.shape[2]
        # Nor for the tiles after it.
        n_each = 1 if self._is_first else facts.step_frames // TILE_FRAMES
        n_tiles = min(n_each * model.crew.width, len(self._tiles))
        taken = [self._tiles.popleft() for _ in range(n_tiles)]
        waves = model.crew.map(lambda work: decode(model.run, facts, *work, n_frames, self._speaker), taken)
        return np.concatenate(waves)

    @property
    def _is_first(self) -> bool:
        return self.job.streamed and not self._n_made

    def _speak_whole(self) -> Samples:
        own = self._model.scales
        # Its durations cannot be had, so that speed is what its graph makes of a length scale.
        scales = Scales(own.noise, own.length / self.job.speed, own.duration_noise)
        inputs = text_inputs(self._parts.popleft().ids, scales, self._speaker)
        samples = speak_whole(self._model.run, inputs, self._draws(0, (BANK_SIZE,)))
        self._part += 1
        return samples
