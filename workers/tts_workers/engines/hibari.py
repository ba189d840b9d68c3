"""The `hibari` engine: the voice that ships with the product (Apache-2.0, 24 kHz, American English).

The phonemes and the signal processing are the hibari-tts package's own; the onnxruntime sessions are ours, since the
package's keep onnxruntime's defaults (spinning pools). A segment is made of parts of at most 400 phonemes; a part takes
two steps, the network (ids (1, L) -> spectra (601, F)) and the signal processing (spectra -> samples (300 F,)).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tts_service.errors import Code, EngineBroken, RequestFailed, SettingsError
from tts_service.protocol import EngineInfo, Job, Runtime, Voice
from tts_workers.engines.base import NO_SAMPLES, Engine, EngineOptions, Output, Sequence
from tts_workers.engines.hibari_text import digestible, in_pieces, raw_phonemes
from tts_workers.engines.option_values import read_options
from tts_workers.engines.ort import cpu_session, session_runtime

MAX_PHONEMES = 400
_CLAUSE_END = re.compile(r"(?<=[,;:—.!?…])\s+")
# In the vocabulary, but they would end the markup.
_NOT_PHONEMES = frozenset('()/"“”')
_SPOKEN_PHONEME = re.compile(r"[^\W_]")


class HibariOptions(msgspec.Struct, frozen=True):
    """The engine has no options."""


@dataclass
class HibariSequence(Sequence):
    """The parts of a segment still to be made."""

    job: Job
    parts: list[list[int]]
    """Phoneme ids of each part."""
    part: int = 0
    spectra: list[Any] | None = None
    """Outputs of the network for the present part, once it has run."""


class HibariEngine(Engine):
    """See the module."""

    @classmethod
    def check(cls, options: EngineOptions) -> None:
        read_options(HibariOptions, options.values, "hibari")
        if options.models is not None:
            raise SettingsError(
                f"engine hibari takes no models directory ({options.models}); its voice is in the package"
            )

    def load(self) -> None:
        try:
            from hibari import dsp
            from hibari.g2p import G2P
            from hibari.g2p.oov import OOV
            from hibari.tts import ASSETS
            from hibari.voices import VOICES
        except ImportError as error:
            raise EngineBroken(f"the package hibari-tts cannot be imported: {error}") from error
        assets = Path(ASSETS)
        self._dsp = dsp
        self._bundled = {name: voice for name, voice in VOICES.items() if voice.get("bundled")}
        self._vocabulary: dict[str, int] = json.loads((assets / "vocab.json").read_text(encoding="utf-8"))
        # One thread for the small net: a second pool would only add threads that wait.
        oov = OOV(str(assets / "oov.onnx"), session=cpu_session(assets / "oov.onnx", n_threads=1))
        self._g2p = G2P(oov=lambda word: in_pieces(oov, word, oov.maxlen))
        self._sessions = {
            name: cpu_session(assets / voice["file"], self.options.n_threads) for name, voice in self._bundled.items()
        }
        self.info = self._describe(assets)

    def _describe(self, assets: Path) -> EngineInfo:
        return EngineInfo(
            name="hibari",
            model_hash=_model_hash(assets, self._dsp.FFT_BACKEND),
            sample_rate_hz=self._dsp.SR,
            voices=[Voice(id=name, name=name.title(), languages=[v["language"]]) for name, v in self._bundled.items()],
            default_voice="heart",
            max_segment_chars=500,
            scripts=["LATIN", "GREEK"],
            stepping="turns",
            longest_step_s=0.5,
            thread_invariant=self.thread_invariant,
            # Above 2 the network's shortest phonemes no longer get shorter.
            min_speed=0.25,
            max_speed=2.0,
            raw_phonemes=True,
            mode_invariant=True,
        )

    def start(self, job: Job) -> HibariSequence:
        self.check_voice(job)
        phonemes = self._phonemes(job)
        parts = [[0, *[self._vocabulary[p] for p in part if p in self._vocabulary], 0] for part in split(phonemes)]
        return HibariSequence(job, parts)

    def _phonemes(self, job: Job) -> str:
        raw = raw_phonemes(job.text)
        unknown = sorted(raw - self._vocabulary.keys() | raw & _NOT_PHONEMES)
        if unknown:
            message = f"voice {job.voice!r} has no sound for {unknown[0]!r} in [[ ]]: expected phonemes of the IPA"
            raise RequestFailed(Code.UNSUPPORTED_TEXT, message, param="input")
        phonemes: str = self._g2p(digestible(job.text))
        if not _SPOKEN_PHONEME.search(phonemes):
            raise RequestFailed(
                Code.UNSUPPORTED_TEXT,
                f"voice {job.voice!r} finds nothing to speak in a segment of the text",
                param="input",
            )
        return phonemes

    def step(self, sequences: SequenceOf[Sequence]) -> list[Output]:
        return [self._advance(sequence) for sequence in sequences if isinstance(sequence, HibariSequence)]

    def _advance(self, sequence: HibariSequence) -> Output:
        job = sequence.job
        if sequence.spectra is None:
            ids = np.asarray([sequence.parts[sequence.part]], np.int64)  # (1, L)
            speed = np.asarray([job.speed], np.float32)
            sequence.spectra = self._sessions[job.voice].run(None, {"ids": ids, "speed": speed})
            return Output(sequence, NO_SAMPLES)
        draws = np.random.default_rng([job.seed, sequence.part])
        samples = self._dsp.synth(*(spectrum[0] for spectrum in sequence.spectra), draws)
        sequence.spectra = None
        sequence.part += 1
        return Output(sequence, samples, finished=sequence.part == len(sequence.parts))

    def release(self, sequence: Sequence) -> None:
        pass

    def runtime(self) -> Runtime:
        return session_runtime(list(self._sessions.values()))


def split(phonemes: str) -> list[str]:
    """Cut a phoneme string into parts of at most 400: after clauses where possible, else at spaces, else anywhere."""
    parts: list[str] = []
    for clause in _CLAUSE_END.split(phonemes):
        pieces = [clause] if len(clause) <= MAX_PHONEMES else _forced(clause)
        for piece in pieces:
            if parts and len(parts[-1]) + 1 + len(piece) <= MAX_PHONEMES:
                parts[-1] += " " + piece
            else:
                parts.append(piece)
    return parts


def _forced(clause: str) -> list[str]:
    pieces = []
    while len(clause) > MAX_PHONEMES:
        cut = clause.rfind(" ", 1, MAX_PHONEMES) + 1 or MAX_PHONEMES
        pieces.append(clause[:cut].strip())
        clause = clause[cut:]
    return [*pieces, clause.strip()]


def _model_hash(assets: Path, fft_backend: str) -> str:
    """Hash all that the samples depend on: model and text files, and the versions of what computes with them."""
    digest = hashlib.sha256()
    for package in ("hibari-tts", "onnxruntime", "numpy"):
        digest.update(f"{package} {metadata.version(package)}\n".encode())
    digest.update(fft_backend.encode())
    for path in sorted(assets.iterdir()):
        digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
