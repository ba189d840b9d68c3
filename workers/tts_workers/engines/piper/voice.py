"""A Piper voice on disk: its files, and what its `.onnx.json` says, checked. Loads no model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from tts_service.errors import EngineBroken

PAD, BEGIN, END = "_", "^", "$"

PhonemeId = Annotated[int, Meta(ge=0, lt=1 << 31)]
Scale = Annotated[float, Meta(ge=0, le=10)]


class AudioConfig(msgspec.Struct, frozen=True):
    """`audio` of a voice's config."""

    sample_rate: Annotated[int, Meta(ge=8000, le=48000)]


class EspeakConfig(msgspec.Struct, frozen=True):
    """`espeak` of a voice's config."""

    voice: str = ""


class InferenceConfig(msgspec.Struct, frozen=True):
    """`inference` of a voice's config; the defaults are Piper's own."""

    noise_scale: Scale = 0.667
    length_scale: Annotated[float, Meta(gt=0, le=10)] = 1.0
    noise_w: Scale = 0.8


class LanguageConfig(msgspec.Struct, frozen=True):
    """`language` of a voice's config."""

    code: str = ""


class VoiceConfig(msgspec.Struct, frozen=True):
    """What is read of a voice's `.onnx.json`."""

    audio: AudioConfig
    phoneme_id_map: dict[str, Annotated[list[PhonemeId], Meta(min_length=1)]]
    num_speakers: Annotated[int, Meta(ge=1, le=100_000)] = 1
    espeak: EspeakConfig = EspeakConfig()
    inference: InferenceConfig = InferenceConfig()
    language: LanguageConfig = LanguageConfig()
    phoneme_type: str = "espeak"
    phoneme_map: dict[str, list[str]] = {}
    """Phonemes that are spelled otherwise before they are looked up."""
    speaker_id_map: dict[str, Annotated[int, Meta(ge=0)]] = {}
    default_speaker_id: Annotated[int, Meta(ge=0)] = 0
    vowel_clusters: list[list[str]] = []
    """Phonemes in a row that have an id of their own."""


@dataclass(frozen=True)
class VoiceFile:
    """One voice's two files."""

    id: str
    model: Path
    config: VoiceConfig

    @property
    def phoneme_type(self) -> Literal["espeak", "text"]:
        """How its text becomes phonemes."""
        return "text" if self.config.phoneme_type == "text" else "espeak"

    @property
    def language(self) -> str:
        """As a BCP 47 tag."""
        return (self.config.language.code or self.config.espeak.voice).replace("_", "-")

    def speakers(self) -> dict[str, int]:
        """Return the number of each speaker by voice id: the voice's own, `voice#name`, and `voice#number`."""
        config = self.config
        found = {self.id: config.default_speaker_id if config.num_speakers > 1 else 0}
        if config.num_speakers > 1:
            found |= {f"{self.id}#{name}": number for name, number in config.speaker_id_map.items()}
            # A speaker who is called 7 comes before speaker number 7.
            found = {f"{self.id}#{number}": number for number in range(config.num_speakers)} | found
        return dict(sorted(found.items(), key=lambda entry: (entry[1], entry[0])))

    def trial_ids(self, n: int) -> list[int]:
        """Return `n` ids that the voice has, as a text would use them."""
        ids = self.config.phoneme_id_map
        sounds = [ids[symbol] for symbol in sorted(ids) if symbol not in (PAD, BEGIN, END)] or [ids[PAD]]
        spoken = [number for sound in islice(cycle(sounds), n) for number in (*sound, *ids[PAD])]
        return [*ids[BEGIN], *ids[PAD], *spoken[: n - 3], *ids[END]]


def find_models(directory: Path) -> list[Path]:
    """Return the model files of a directory, by name. OSError where it cannot be read."""
    return sorted(path for path in directory.iterdir() if path.suffix == ".onnx")


def read_voice(model: Path) -> VoiceFile:
    """Return the voice of a model file; its id is the file's name. EngineBroken says what is wrong with its config."""
    path = model.with_name(model.name + ".json")
    name = model.stem
    try:
        config = msgspec.json.decode(path.read_bytes(), type=VoiceConfig)
    except FileNotFoundError:
        raise EngineBroken(f"voice {name}: there is no {path.name} beside {model}") from None
    except OSError as error:
        raise EngineBroken(f"voice {name}: cannot read {path}: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise EngineBroken(f"voice {name}: {path.name} is no config of a Piper voice: {error}") from error
    if reason := fault_of(config):
        raise EngineBroken(f"voice {name}: {path.name}: {reason}")
    return VoiceFile(name, model, config)


def fault_of(config: VoiceConfig) -> str:
    """Return what is wrong with a config in itself, "" where nothing is."""
    if config.phoneme_type not in ("espeak", "text"):
        return f'phoneme_type is "{config.phoneme_type}"; espeak and text are supported'
    if config.phoneme_type == "espeak" and not re.fullmatch(r"[A-Za-z0-9_+/-]+", config.espeak.voice):
        return f"espeak.voice is {config.espeak.voice!r}, expected the name of a language"
    missing = [symbol for symbol in (PAD, BEGIN, END) if symbol not in config.phoneme_id_map]
    if missing:
        return f"phoneme_id_map has no {' and no '.join(missing)}"
    return _speaker_fault(config.speaker_id_map, config.default_speaker_id, config.num_speakers)


def _speaker_fault(names: Mapping[str, int], default: int, n_speakers: int) -> str:
    beyond = [name for name, number in names.items() if number >= n_speakers]
    if beyond and n_speakers > 1:
        return f"speaker {beyond[0]!r} has number {names[beyond[0]]}, but there are {n_speakers} speakers"
    if n_speakers > 1 and default >= n_speakers:
        return f"default_speaker_id is {default}, but there are {n_speakers} speakers"
    return ""
