"""Speech requests as tests make them: some segments, a scripted broker that answers, and a clock that waits move."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from support.pools import pool
from support.scripted_broker import Script, ScriptedBroker, answer_whole, audio_of
from tts_service.errors import RequestFailed
from tts_service.gateway.budget import AudioBudget
from tts_service.gateway.pcm import Float32
from tts_service.gateway.result_cache import ResultCache
from tts_service.gateway.speech import Speech
from tts_service.gateway.text_feed import TextFeed
from tts_service.gateway.utterance import Utterance
from tts_service.protocol import Job
from tts_service.settings import GatewaySettings
from tts_service.text.segment import SegmentText

TEXTS = ["One.", "Second one.", "Three three three.", "Four!", "The fifth one."]


def nobody_leaves() -> None:
    """A client that stays."""


class SpokenRequest:
    """A request for some segments, and the broker that answers it."""

    def __init__(
        self,
        texts: Iterable[str] | TextFeed,
        script: Script = answer_whole,
        *,
        check_client: Callable[[], None] = nobody_leaves,
        budget_bytes: int = 1 << 30,
        streamed: bool = True,
        timeout_s: float = 0.0,
        cache: ResultCache | None = None,
        random_seed: bool = False,
        pause_s: float = 0.0,
        keep_words: bool = True,
        **settings: Any,
    ) -> None:
        self.broker = ScriptedBroker(script)
        self.channel = self.broker.open("r")
        self.budget = AudioBudget(budget_bytes)
        utterance = Utterance(
            text="The text.",
            pool=pool(generation="g7"),
            voice="bert",
            language="de",
            speed=1.25,
            seed=11,
            response_format="pcm",
            sample_rate_hz=24000,
            streamed=streamed,
            timeout_s=timeout_s,
            client="10.0.0.9",
            random_seed=random_seed,
        )
        gateway = GatewaySettings(**settings)
        self.speech = Speech(
            utterance,
            iter(texts)
            if isinstance(texts, TextFeed)
            else (SegmentText(text, pause_after_s=pause_s) for text in texts),
            self.channel,
            gateway,
            self.budget,
            check_client,
            cache,
            keep_words=keep_words,
        )
        self.pieces = self.speech.audio()

    def audio(self) -> Float32:
        """Return all the samples."""
        parts = list(self.pieces)
        return np.concatenate(parts) if parts else np.zeros(0, np.float32)

    def fails(self) -> RequestFailed:
        """Return the error in which the request ends."""
        with pytest.raises(RequestFailed) as caught:
            self.audio()
        return caught.value

    @property
    def keys(self) -> list[tuple[int, int]]:
        """Segment and attempt of every submission, in order."""
        return [(job.key.segment, job.key.attempt) for job in self.broker.posted]


def expected(texts: list[str]) -> Float32:
    """Return the audio of a request with these segments."""
    return np.concatenate([audio_of(text) for text in texts])


def silent(broker: ScriptedBroker, job: Job) -> None:
    """Script: never answer."""


class Clock:
    """In the place of the module `time`: a request's time passes only while it waits, `step_s` at each look."""

    def __init__(self, step_s: float) -> None:
        self.now_s = 1000.0
        self.step_s = step_s
        self.n_looks = 0
        self.on_look: Callable[[int], None] = lambda n_looks: None

    def monotonic(self) -> float:
        return self.now_s

    def look(self) -> None:
        self.now_s += self.step_s
        self.n_looks += 1
        self.on_look(self.n_looks)
