"""From an utterance to its segments, as settings, engine and request want it read. Runs on request threads."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from tts_service.errors import Code, RequestFailed
from tts_service.gateway.utterance import Utterance
from tts_service.settings import GatewaySettings
from tts_service.text.front_end import ALL_STEPS, Reading, check, segments
from tts_service.text.lexicon import Lexicon
from tts_service.text.scripts import check_scripts
from tts_service.text.segment import Pauses, SegmentText

_RAW = re.compile(r"\[\[[^\[\]]{1,400}\]\]")
# The attribute of SSML's phoneme.
_PH = re.compile(r"\bph\s{0,9}=\s{0,9}(?:\"[^\"<]{0,400}\"|'[^'<]{0,400}')")


class SpokenText:
    """The text front end as a gateway uses it; shared by all request threads."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._settings = settings
        self._lexicon = Lexicon(Path(settings.lexicon)) if settings.lexicon else None
        self._pauses = Pauses(settings.sentence_pause_s, settings.line_pause_s, settings.paragraph_pause_s)

    def segments(self, utterance: Utterance) -> Iterator[SegmentText]:
        """Return the segments, made as they are asked for. RequestFailed where nothing of the text can be spoken."""
        engine = utterance.pool.engine
        check_scripts(_without_phonemes(utterance), engine.scripts, utterance.voice)
        reading = self.reading(utterance)
        check(utterance.text, reading)
        found = segments(utterance.text, reading)
        first = next(found, None)
        if first is None:
            message = "input has nothing to speak in it: expected letters, digits or spoken symbols"
            raise RequestFailed(Code.NOTHING_TO_SPEAK, message, param="input")
        return itertools.chain([first], found)

    def reading(self, utterance: Utterance) -> Reading:
        """Return how the text is to be read."""
        engine = utterance.pool.engine
        return Reading(
            language=utterance.language or _language_of_voice(utterance),
            max_chars=min(self._settings.segment_chars, engine.max_segment_chars),
            steps=_steps(utterance),
            ssml=utterance.ssml,
            raw_phonemes=engine.raw_phonemes,
            first_chars=self._settings.first_segment_chars,
            pauses=self._pauses,
            lexicon=self._lexicon,
            speeds=(engine.min_speed / utterance.speed, engine.max_speed / utterance.speed),
        )


def _without_phonemes(utterance: Utterance) -> str:
    """Return the text with blanks for its phonemes, which are in letters of their own."""
    text = utterance.text
    if utterance.pool.engine.raw_phonemes and "[[" in text:
        text = _RAW.sub(lambda match: " " * len(match[0]), text)
    return _PH.sub(lambda match: " " * len(match[0]), text) if utterance.ssml else text


def _steps(utterance: Utterance) -> frozenset[str]:
    if isinstance(utterance.normalize, bool):
        wanted = ALL_STEPS if utterance.normalize else frozenset[str]()
    else:
        wanted = frozenset(utterance.normalize)
    own = utterance.pool.engine.reads
    return frozenset() if "all" in own else wanted - set(own)


def _language_of_voice(utterance: Utterance) -> str:
    voices = {voice.id: voice.languages for voice in utterance.pool.engine.voices}
    languages = voices.get(utterance.voice, [])
    return languages[0] if languages else ""
