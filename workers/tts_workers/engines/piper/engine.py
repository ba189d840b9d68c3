"""The `piper` engine: voices from a directory, several in one worker, on the same few threads. See docs/piper.md."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Sequence as SequenceOf
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from tts_service.errors import Code, EngineBroken, RequestFailed, SettingsError
from tts_service.protocol import EngineInfo, Job, Runtime, Voice
from tts_workers.engines.base import NO_SAMPLES, Engine, EngineOptions, Output, Sequence
from tts_workers.engines.option_values import read_options
from tts_workers.engines.ort import session_runtime
from tts_workers.engines.piper.crew import Crew
from tts_workers.engines.piper.ids import MAX_PHONEMES, MAX_PHONEMES_WHOLE, Alphabet
from tts_workers.engines.piper.phonemes import Reader
from tts_workers.engines.piper.scripts import scripts_of
from tts_workers.engines.piper.sequence import Model, PiperSequence
from tts_workers.engines.piper.spoken import is_heard
from tts_workers.engines.piper.synthesis import Scales
from tts_workers.engines.piper.voice import VoiceFile, find_models, read_voice

logger = logging.getLogger(__name__)

MAX_SEGMENT_CHARS = 500
# Measured with a recogniser on "joe": 0 % of words wrong at 1, 2 % at 1.5, 21 % at 2, 62 % at 2.5.
MIN_SPEED, MAX_SPEED = 0.25, 2.0
EXTRA = {"onnx": "onnx", "piper": "piper-tts", "rapidfuzz": "rapidfuzz"}


class PiperOptions(msgspec.Struct, frozen=True):
    """Options of the pool that runs the engine; what is absent is as each voice's config says."""

    noise_scale: Annotated[float, Meta(ge=0, le=2)] | None = None
    """How much the sound of a phoneme varies."""
    noise_w: Annotated[float, Meta(ge=0, le=2)] | None = None
    """How much its length varies."""
    length_scale: Annotated[float, Meta(gt=0, le=10)] | None = None
    """Length at speed 1."""
    cache: str = ""
    """Directory of cut voices."""


class PiperEngine(Engine):
    """See the module."""

    thread_invariant = True

    def __init__(self, options: EngineOptions) -> None:
        super().__init__(options)
        self.piper = read_options(PiperOptions, options.values, "piper")
        self._models: dict[str, tuple[Model, int]] = {}
        """Voice and speaker by voice id."""

    @classmethod
    def check(cls, options: EngineOptions) -> None:
        read_options(PiperOptions, options.values, "piper")
        check_extra()
        if options.models is None:
            raise SettingsError("engine piper needs a directory of voices: set `models` (--models DIR)")
        try:
            read_voices(options.models)
        except EngineBroken as error:
            raise SettingsError(str(error)) from error

    def load(self) -> None:
        from tts_workers.engines.piper.bundle import Bundle
        from tts_workers.engines.piper.cache import Cache, default_directory, digest_of
        from tts_workers.engines.piper.cutting import cut
        from tts_workers.engines.piper.words import WordFinder

        assert self.options.models is not None
        voices = read_voices(self.options.models)
        cache = Cache(Path(self.piper.cache) if self.piper.cache else default_directory(os.environ))
        digests = {voice.id: digest_of(voice.model) for voice in voices}
        entries = {voice.id: cache.get(digests[voice.id], partial(cut, voice)) for voice in voices}
        self._bundle = Bundle()
        self._bundle.load(entries)
        self._crew = Crew(self.options.n_threads)
        self._crew.start()
        for voice in voices:
            reader = Reader(voice)
            reader.load()
            facts, run = entries[voice.id].facts, self._bundle.runner(voice.id)
            alphabet = Alphabet(voice, MAX_PHONEMES_WHOLE if facts.whole_because else MAX_PHONEMES)
            finder = WordFinder(reader.sentences)
            model = Model(voice, reader, finder, alphabet, facts, run, self._crew, self._scales(voice))
            self._models |= {name: (model, speaker) for name, speaker in voice.speakers().items()}
        self.info = self._describe(voices, digests)

    def _scales(self, voice: VoiceFile) -> Scales:
        own, set_to = voice.config.inference, self.piper
        return Scales(
            own.noise_scale if set_to.noise_scale is None else set_to.noise_scale,
            own.length_scale if set_to.length_scale is None else set_to.length_scale,
            own.noise_w if set_to.noise_w is None else set_to.noise_w,
        )

    def _describe(self, voices: list[VoiceFile], digests: dict[str, str]) -> EngineInfo:
        models = [self._models[voice.id][0] for voice in voices]
        scripts = {script for voice in voices for script in scripts_of(voice.config.espeak.voice)}
        return EngineInfo(
            name="piper",
            model_hash=self._model_hash(voices, digests),
            sample_rate_hz=voices[0].config.audio.sample_rate,
            voices=[voice for model in models for voice in describe(model)],
            default_voice=voices[0].id,
            max_segment_chars=MAX_SEGMENT_CHARS,
            # Whether a voice of this kind has a letter, only its own map says.
            scripts=[] if any(voice.phoneme_type == "text" for voice in voices) else sorted(scripts),
            stepping="turns",
            longest_step_s=max(model.facts.longest_step_s for model in models),
            thread_invariant=self.thread_invariant,
            min_speed=MIN_SPEED,
            max_speed=MAX_SPEED,
            raw_phonemes=all(voice.phoneme_type == "espeak" for voice in voices),
            word_times=any(not model.facts.whole_because for model in models),
        )

    def _model_hash(self, voices: list[VoiceFile], digests: dict[str, str]) -> str:
        """Hash all that the samples depend on: voices, options, and the versions of what computes with them."""
        digest = hashlib.sha256()
        for package in ("onnxruntime", "numpy", *EXTRA.values()):
            digest.update(f"{package} {metadata.version(package)}\n".encode())
        for voice in voices:
            digest.update(f"{voice.id} {digests[voice.id]} {self._scales(voice)}\n".encode())
            digest.update(msgspec.json.encode(voice.config))
        return digest.hexdigest()

    def start(self, job: Job) -> PiperSequence:
        self.check_voice(job)
        model, speaker = self._models[job.voice]
        parts, times = model.parts(job.text)
        if not parts:
            raise RequestFailed(
                Code.UNSUPPORTED_TEXT, f"voice {job.voice!r} finds nothing to speak in {job.text[:40]!r}", param="input"
            )
        return PiperSequence(job, model, speaker, parts, times)

    def step(self, sequences: SequenceOf[Sequence]) -> list[Output]:
        return [_advance(sequence) for sequence in sequences if isinstance(sequence, PiperSequence)]

    def release(self, sequence: Sequence) -> None:
        pass

    def set_width(self, n_threads: int) -> None:
        self._crew.set_width(n_threads)

    def runtime(self) -> Runtime:
        runtime = session_runtime([self._bundle.session])
        return msgspec.structs.replace(runtime, intra_op_threads=self._crew.n_threads * runtime.intra_op_threads)

    def warm_up_voices(self) -> list[str]:
        # One speaker of each model: a voice may have hundreds.
        return list({model.voice.id: None for model, _ in self._models.values()})

    def warm_up_text(self, voice: str = "") -> str:
        model, _ = self._models[voice or self.info.default_voice]
        if model.voice.phoneme_type == "espeak":
            return super().warm_up_text()
        letters = "".join(symbol for symbol in sorted(model.voice.config.phoneme_id_map) if is_heard(symbol))
        return letters[:60]


def _advance(sequence: PiperSequence) -> Output:
    try:
        samples = sequence.step()
    except RequestFailed as error:
        return Output(sequence, NO_SAMPLES, error=error)
    return Output(sequence, samples, finished=sequence.finished)


def check_extra() -> None:
    """Raise SettingsError where the packages of the extra `piper` are missing. Imports none of them."""
    missing = [package for module, package in EXTRA.items() if find_spec(module) is None]
    if missing:
        raise SettingsError(
            f"engine piper needs {', '.join(missing)}: pip install 'tts-service[piper]' (piper-tts is GPL-3.0)"
        )


def read_voices(directory: Path) -> list[VoiceFile]:
    """Return the voices of a directory. EngineBroken where there is none, or one is wrong, or their rates differ."""
    try:
        voices = [read_voice(path) for path in find_models(directory)]
    except OSError as error:
        raise EngineBroken(f"cannot read {directory}: {error.strerror}") from error
    if not voices:
        raise EngineBroken(f"there is no .onnx file in {directory}")
    rates = {voice.config.audio.sample_rate: voice.id for voice in voices}
    if len(rates) > 1:
        listed = ", ".join(f"{rate} Hz ({voice})" for rate, voice in sorted(rates.items()))
        raise EngineBroken(f"voices in {directory} have different sample rates: {listed}; give each rate its own pool")
    return voices


def describe(model: Model) -> list[Voice]:
    """Return a voice and its speakers as clients see them."""
    voice, reason = model.voice, model.facts.whole_because
    note = f"runs whole, without windows: {reason}" if reason else ""
    languages = [voice.language] if voice.language else []
    return [
        Voice(id=name, name=name.replace("#", ", speaker "), languages=languages, note=note, word_times=not reason)
        for name in voice.speakers()
    ]
