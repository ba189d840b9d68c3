"""What exactly is to be spoken: the pool, the voice, the seed, the rate, and how it is delivered."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.pools import pool
from support.properties import property_settings
from tts_service.errors import Code, RequestFailed
from tts_service.gateway.body import SpeechBody, VoiceRef
from tts_service.gateway.utterance import Utterance, resolve, segment_seed
from tts_service.protocol import PoolInfo, Voice

FIRST = pool("fast", engine_name="tone", default_voice="bert", default_seed=5)
SECOND = pool(
    "good",
    engine_name="hibari",
    voices=[Voice("carl", "Carl", ["en"])],
    default_voice="carl",
    default_seed=-1,
    sample_rate_hz=22050,
    min_speed=0.8,
    max_speed=1.2,
)
POOLS = [FIRST, SECOND]


def speak(pools: list[PoolInfo] = POOLS, default_rate_hz: int = 24000, client: str = "", **fields: Any) -> Utterance:
    return resolve(SpeechBody(input="Hello.", **fields), pools, default_rate_hz, client)


def refused(**fields: Any) -> RequestFailed:
    with pytest.raises(RequestFailed) as caught:
        speak(**fields)
    return caught.value


def test_a_request_that_names_nothing_gets_the_first_pool_and_its_defaults() -> None:
    utterance = speak()
    assert (utterance.pool, utterance.voice, utterance.seed, utterance.language) == (FIRST, "bert", 5, "")
    assert (utterance.text, utterance.speed, utterance.sample_rate_hz) == ("Hello.", 1.0, 24000)
    assert (utterance.priority, utterance.timeout_s) == (0, 0.0)


def test_what_a_request_names_is_passed_on() -> None:
    utterance = speak(
        voice="bert", speed=1.5, seed=9, language="de", sample_rate=48000, priority=-3, timeout=2.5, client="10.0.0.9"
    )
    assert (utterance.voice, utterance.speed, utterance.seed, utterance.language) == ("bert", 1.5, 9, "de")
    assert (utterance.sample_rate_hz, utterance.priority, utterance.timeout_s) == (48000, -3, 2.5)
    assert utterance.client == "10.0.0.9"


@pytest.mark.parametrize(("model", "name"), [("good", "good"), ("hibari", "good"), ("fast", "fast"), ("tone", "fast")])
def test_a_model_is_a_pool_or_an_engine(model: str, name: str) -> None:
    assert speak(model=model).pool.name == name


@pytest.mark.parametrize("model", ["tts-1", "tts-1-hd", "gpt-4o-mini-tts", "", None])
def test_openais_model_names_mean_whatever_there_is(model: str | None) -> None:
    assert speak(model=model).pool is FIRST
    assert speak(model=model, voice="carl").pool is SECOND


def test_a_voice_finds_its_pool_where_no_model_is_named() -> None:
    assert speak(voice="carl").pool is SECOND
    assert speak(voice=VoiceRef("anna")).pool is FIRST


def test_a_pool_comes_before_an_engine_of_the_same_name() -> None:
    named_like_an_engine = pool("hibari", engine_name="tone")
    assert speak([SECOND, named_like_an_engine], model="hibari").pool.name == "hibari"


def test_an_unknown_model_is_refused_with_those_there_are() -> None:
    error = refused(model="tts-9")
    assert (error.code, error.param) == (Code.MODEL_NOT_FOUND, "model")
    assert "'tts-9'" in error.message
    assert "fast, good" in error.message


@pytest.mark.parametrize("voice", ["nobody", "Anna", "anna ", "Alloy", "", VoiceRef("nobody"), VoiceRef("")])
@pytest.mark.parametrize("model", [None, "tts-1", "fast"])
def test_an_unknown_voice_never_becomes_the_default_one(voice: Any, model: str | None) -> None:
    error = refused(voice=voice, model=model)
    assert (error.code, error.param, error.code.status) == (Code.VOICE_NOT_FOUND, "voice", 400)
    assert "anna, bert" in error.message


def test_a_voice_of_another_pool_than_the_one_named_is_unknown() -> None:
    error = refused(voice="carl", model="fast")
    assert error.code is Code.VOICE_NOT_FOUND
    assert "carl, " not in error.message.partition("there are")[2]


def test_the_list_of_voices_in_an_error_is_short() -> None:
    many = pool(voices=[Voice(f"v{n}", "", []) for n in range(500)], default_voice="v0")
    with pytest.raises(RequestFailed, match="v19 and 480 more") as caught:
        speak([many], voice="x" * 5000)
    assert len(caught.value.message) < 300


def test_a_default_voice_that_the_engine_does_not_have_is_an_error_and_not_another_voice() -> None:
    with pytest.raises(RequestFailed, match="'gone'"):
        speak([pool(default_voice="gone")])


@pytest.mark.parametrize(
    ("speed", "engines", "stretch"),
    [(0.4, 0.8, 0.5), (0.8, 0.8, 1.0), (1.0, 1.0, 1.0), (1.2, 1.2, 1.0), (3.0, 1.2, 2.5)],
)
def test_a_speed_that_the_engine_does_not_have_is_made_of_its_nearest_and_a_stretch(
    speed: float, engines: float, stretch: float
) -> None:
    utterance = speak(voice="carl", speed=speed)
    assert utterance.speed == engines
    assert utterance.stretch == pytest.approx(stretch)


def test_a_language_that_the_voice_does_not_speak_is_refused_with_those_it_does() -> None:
    error = refused(voice="anna", language="de")
    assert (error.code, error.param, error.message) == (
        Code.INVALID_REQUEST,
        "language",
        "language = 'de': voice anna speaks en-GB, en",
    )


@pytest.mark.parametrize(
    ("languages", "wanted", "spoken"),
    [
        (["en-US"], "en", True),
        (["en-US"], "EN_us", True),
        (["en-US"], "en-GB", False),
        (["en"], "en-GB", True),
        (["en-US"], "eng", False),
        (["en-US"], "e", False),
        (["zh-Hant-TW"], "zh-Hant", True),
        ([], "tlh", True),
        (["en-US"], "", True),
    ],
)
def test_a_language_is_spoken_by_voices_of_it_whatever_the_region(
    languages: list[str], wanted: str, spoken: bool
) -> None:
    only = pool(voices=[Voice("v", "V", languages)], default_voice="v")
    if spoken:
        assert speak([only], language=wanted).language == wanted
    else:
        with pytest.raises(RequestFailed, match="voice v speaks"):
            speak([only], language=wanted)


@pytest.mark.parametrize(
    ("response_format", "wanted", "rate_hz"),
    [
        ("opus", None, 24000),
        ("opus", "native", 24000),
        ("opus", 48000, 48000),
        ("mp3", "native", 22050),
        ("flac", "native", 22050),
        ("ulaw", None, 8000),
        ("wav_alaw", 8000, 8000),
    ],
)
def test_a_format_without_the_voices_rate_has_the_next_that_loses_nothing(
    response_format: str, wanted: Any, rate_hz: int
) -> None:
    utterance = speak(voice="carl", response_format=response_format, sample_rate=wanted)
    assert utterance.sample_rate_hz == rate_hz


@pytest.mark.parametrize(
    ("response_format", "wanted"), [("opus", 22050), ("aac", 9000), ("ulaw", 16000), ("wav_ulaw", "native")]
)
def test_a_rate_that_the_format_does_not_have_is_refused_with_those_it_has(response_format: str, wanted: Any) -> None:
    error = refused(response_format=response_format, sample_rate=wanted)
    assert (error.code, error.param) == (Code.INVALID_REQUEST, "sample_rate")
    assert error.message.startswith(f"sample_rate = {wanted}: {response_format} has 8000")


def test_events_of_any_format_are_streamed_unless_the_request_says_otherwise() -> None:
    assert speak(stream_format="sse", response_format="wav").streamed
    assert not speak(stream_format="sse", stream=False).streamed
    assert not speak(stream_format="audio", response_format="wav_ulaw").streamed


def test_a_request_without_a_seed_has_its_pools() -> None:
    assert [speak(voice="anna").seed for _ in range(3)] == [5, 5, 5]
    assert speak(voice="carl", seed=0).seed == 0


@pytest.mark.parametrize("fields", [{"voice": "anna", "seed": -1}, {"voice": "carl"}])
def test_a_random_seed_differs_and_can_be_asked_for_again(fields: dict[str, Any]) -> None:
    seeds = {speak(**fields).seed for _ in range(20)}
    assert len(seeds) > 15
    for seed in seeds:
        assert 0 <= seed < 2**31
        assert speak(voice="anna", seed=seed).seed == seed


@pytest.mark.parametrize(
    ("asked", "default_rate_hz", "rate_hz"),
    [(None, 24000, 24000), (None, 0, 22050), ("native", 24000, 22050), (8000, 24000, 8000), (48000, 0, 48000)],
)
def test_the_rate_is_the_one_asked_for_or_the_services_or_the_voices(
    asked: Any, default_rate_hz: int, rate_hz: int
) -> None:
    assert speak(voice="carl", sample_rate=asked, default_rate_hz=default_rate_hz).sample_rate_hz == rate_hz


def test_a_rate_that_the_format_does_not_have_is_refused() -> None:
    error = refused(sample_rate=23456)
    assert (error.code, error.param) == (Code.INVALID_REQUEST, "sample_rate")
    assert speak(sample_rate=23456, response_format="wav").sample_rate_hz == 23456


@pytest.mark.parametrize(("response_format", "streamed"), [("mp3", True), ("pcm", True), ("wav", False)])
def test_all_formats_but_wav_are_streamed_unless_the_request_says_otherwise(
    response_format: Any, streamed: bool
) -> None:
    assert speak(response_format=response_format).streamed is streamed
    assert speak(response_format=response_format, stream=True).streamed is True
    assert speak(response_format=response_format, stream=False).streamed is False


SEEDS = st.integers(0, 2**63 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@property_settings(100)
@given(SEEDS, TEXTS, st.integers(0, 1000))
def test_a_segments_seed_is_fixed_and_in_range(seed: int, text: str, occurrence: int) -> None:
    made = segment_seed(seed, text, occurrence)
    assert 0 <= made < 2**63
    assert made == segment_seed(seed, text, occurrence)


@property_settings(100)
@given(SEEDS, SEEDS, TEXTS, TEXTS, st.integers(0, 9), st.integers(0, 9))
def test_another_seed_text_or_occurrence_is_another_seed(a: int, b: int, one: str, two: str, m: int, n: int) -> None:
    same = (a, one, m) == (b, two, n)
    assert (segment_seed(a, one, m) == segment_seed(b, two, n)) is same


def test_a_segments_seed_is_the_same_on_every_machine_and_in_every_version() -> None:
    # Same request, same bytes, also after an upgrade: these numbers never change.
    assert segment_seed(0, "Hello.", 0) == 2328066138393268085
    assert segment_seed(7, "Grüße.", 2) == 5877314356393749909
