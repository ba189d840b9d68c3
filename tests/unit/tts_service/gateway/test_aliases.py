"""Names that are no voices' own: the settings', and OpenAI's."""

from __future__ import annotations

import pytest

from support.pools import pool
from tts_service.errors import Code, RequestFailed
from tts_service.gateway.aliases import OPENAI_VOICES
from tts_service.gateway.body import SpeechBody, VoiceRef
from tts_service.gateway.utterance import Utterance, resolve
from tts_service.protocol import PoolInfo, Voice

THREE = pool(
    "three",
    voices=[Voice("a", "A", ["en-US"]), Voice("b", "B", ["de"]), Voice("c", "C", ["en-GB"]), Voice("d", "D", ["en"])],
    default_voice="c",
)
OTHER = pool("other", voices=[Voice("nova", "Nova", ["en"]), Voice("x", "X", ["en"])], default_voice="x")


def speak(
    voice: str | VoiceRef, pools: list[PoolInfo], table: dict[str, str] | None = None, model: str = ""
) -> Utterance:
    return resolve(SpeechBody(input="Hi.", voice=voice, model=model), pools, 24000, aliases=table)


def test_openais_names_go_round_the_voices_of_the_default_language_from_the_default_voice_on() -> None:
    found = [speak(name, [THREE]).voice for name in OPENAI_VOICES]
    assert len(OPENAI_VOICES) == 13
    assert found == ["c", "a", "d"] * 4 + ["c"]


def test_a_voice_that_has_an_openai_name_is_itself() -> None:
    assert speak("nova", [THREE, OTHER]).pool is OTHER
    assert speak(VoiceRef("nova"), [THREE, OTHER]).voice == "nova"


def test_an_openai_name_is_for_the_pool_that_the_model_names() -> None:
    assert speak("alloy", [THREE, OTHER], model="other").voice == "x"
    assert speak("alloy", [THREE, OTHER], model="tts-1").pool is THREE


def test_an_alias_of_the_settings_goes_before_openais_and_finds_its_pool() -> None:
    table = {"alloy": "x", "Grandma": "b"}
    assert (speak("alloy", [THREE, OTHER], table).voice, speak("Grandma", [THREE], table).voice) == ("x", "b")
    assert speak("alloy", [THREE, OTHER], table).pool is OTHER


def test_a_voice_goes_before_an_alias_of_its_name() -> None:
    assert speak("a", [THREE], {"a": "b"}).voice == "a"


def test_an_alias_of_a_voice_that_is_not_there_is_refused_by_both_names() -> None:
    with pytest.raises(RequestFailed, match=r"voice = 'Grandma': gateway\.voice_aliases makes it 'gone'") as caught:
        speak("Grandma", [THREE], {"Grandma": "gone"})
    assert (caught.value.code, caught.value.param) == (Code.VOICE_NOT_FOUND, "voice")
