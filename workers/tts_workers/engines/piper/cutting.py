"""Cuts a voice's file: in parts where that keeps its sound, else whole; refuses what it cannot make sense of."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import onnx
from google.protobuf.message import DecodeError
from onnx import ModelProto

from tts_service.errors import EngineBroken
from tts_workers.engines.piper import anatomy
from tts_workers.engines.piper.graph import GraphView, NotUnderstood
from tts_workers.engines.piper.probe import Trial, examine, try_whole
from tts_workers.engines.piper.surgery import split, whole
from tts_workers.engines.piper.synthesis import BODY, ENCODER, TAIL, WHOLE, Facts
from tts_workers.engines.piper.voice import VoiceFile

logger = logging.getLogger(__name__)

TRIAL_IDS = 160
# Of a voice that runs whole: the longest part at a tenth of real time.
WHOLE_STEP_S = 0.8


@dataclass(frozen=True)
class Cut:
    """A voice as it will run."""

    facts: Facts
    parts: dict[str, ModelProto]
    """encoder, body and tail; or whole."""


def cut(voice: VoiceFile) -> Cut:
    """Return the parts of a voice. EngineBroken says why it cannot be served at all."""
    try:
        view = GraphView(onnx.load(voice.model))
    except OSError as error:
        raise EngineBroken(f"voice {voice.id}: cannot read {voice.model}: {error.strerror}") from error
    except DecodeError as error:
        raise EngineBroken(f"voice {voice.id}: {voice.model} is no ONNX file") from error
    try:
        check_tables(view, voice)
        trial = Trial(voice.trial_ids(TRIAL_IDS), voice.config.num_speakers - 1)
        try:
            return _in_parts(view, trial)
        except NotUnderstood as error:
            found = _in_one(view, trial, str(error))
            logger.warning("voice %s runs whole: %s", voice.id, error)
            return found
    except NotUnderstood as error:
        raise EngineBroken(f"voice {voice.id}: {error}") from error


def check_tables(view: GraphView, voice: VoiceFile) -> None:
    """Raise NotUnderstood where ids of the voice's map, or its speakers, are beyond the graph's tables."""
    n_speakers = voice.config.num_speakers
    anatomy.check_inputs(view, n_speakers)
    rows = anatomy.embedding_rows(view, anatomy.IDS)
    beyond = {symbol: max(ids) for symbol, ids in voice.config.phoneme_id_map.items() if max(ids) >= rows}
    if beyond:
        symbol, largest = next(iter(beyond.items()))
        raise NotUnderstood(f"its map gives {symbol!r} the id {largest}, its graph knows ids below {rows}")
    if n_speakers > 1 and anatomy.embedding_rows(view, anatomy.SPEAKER) < n_speakers:
        known = anatomy.embedding_rows(view, anatomy.SPEAKER)
        raise NotUnderstood(f"it names {n_speakers} speakers, its graph knows {known}")


def _in_parts(view: GraphView, trial: Trial) -> Cut:
    try:
        parts = split(view, anatomy.find(view))
        facts = examine(parts, trial)
    except EngineBroken as error:
        raise NotUnderstood(f"its parts do not load: {error}") from error
    return Cut(facts, {ENCODER: parts.encoder, BODY: parts.body, TAIL: parts.tail})


def _in_one(view: GraphView, trial: Trial, reason: str) -> Cut:
    part = whole(view)
    try_whole(part, trial)
    return Cut(Facts(whole_because=reason, longest_step_s=WHOLE_STEP_S), {WHOLE: part})
