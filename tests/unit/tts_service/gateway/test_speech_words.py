"""Words of a request: in text order, at the samples where they are heard, whatever happened on the way."""

from __future__ import annotations

import numpy as np
import pytest

from support.scripted_broker import SAMPLES_PER_CHAR, ScriptedBroker, answer_whole, audio_of, words_of
from support.spoken import TEXTS, SpokenRequest
from tts_service.errors import Code
from tts_service.gateway.finished_segment import pack, unpack
from tts_service.gateway.memory_store import MemoryStore
from tts_service.gateway.result_cache import ResultCache
from tts_service.protocol import Job, Word


def heard(request: SpokenRequest) -> list[str]:
    """Return the words by the samples of the request that they are said to be."""
    audio = request.audio()
    found = []
    for segment in request.speech.words:
        spoken = audio_of(segment.text.text)
        for word in segment.words:
            samples = audio[word.start_sample : word.end_sample]
            start = SAMPLES_PER_CHAR * word.text_start
            assert np.array_equal(samples, spoken[start : start + len(samples)])
            found.append(segment.text.text[word.text_start : word.text_end])
    return found


WORDS = ["One", "Second", "one", "Three", "three", "three", "Four", "The", "fifth", "one"]


@pytest.mark.parametrize("pause_s", [0.0, 0.1])
def test_words_are_where_they_are_heard_pauses_included(pause_s: float) -> None:
    request = SpokenRequest(TEXTS, pause_s=pause_s)
    assert heard(request) == WORDS
    assert [segment.index for segment in request.speech.words] == [0, 1, 2, 3, 4]
    second = request.speech.words[1]
    assert (second.first_sample, second.n_samples) == (SAMPLES_PER_CHAR * 4 + round(24000 * pause_s), 1100)


def test_a_segment_that_is_continued_after_a_loss_has_its_words_where_they_are() -> None:
    def dies_once(broker: ScriptedBroker, job: Job) -> None:
        if job.key.attempt == 1:
            broker.speak(job, 0, 130)
            broker.fail(job, Code.WORKER_DIED)
        else:
            answer_whole(broker, job)

    assert heard(SpokenRequest(TEXTS, dies_once)) == WORDS


def test_words_of_a_segment_are_known_before_its_last_samples_are_handed_out() -> None:
    request = SpokenRequest(TEXTS[:1])
    first = next(request.pieces)
    assert len(first) < len(audio_of(TEXTS[0]))
    list(request.pieces)
    assert [segment.words for segment in request.speech.words] == [words_of(TEXTS[0])]


def test_words_that_nobody_wants_are_not_kept() -> None:
    request = SpokenRequest(TEXTS, keep_words=False)
    request.audio()
    assert request.speech.words == []


def test_words_of_a_segment_from_the_cache_are_those_that_its_worker_told() -> None:
    cache = ResultCache(MemoryStore(1 << 20))
    first = SpokenRequest(TEXTS, cache=cache)
    assert heard(first) == WORDS
    again = SpokenRequest(TEXTS, cache=cache)
    assert heard(again) == WORDS
    assert again.broker.posted == []
    assert again.speech.words == first.speech.words


@pytest.mark.parametrize("words", [(), (Word(0, 1, 2, 3),), (Word(0, 1, 2, 3), Word(4, 5, 6, 1 << 30))])
def test_a_segment_is_kept_with_its_words_to_the_bit(words: tuple[Word, ...]) -> None:
    samples = np.asarray([0.5, -1.0, 1e-40], np.float32)
    found = unpack(pack(samples, words))
    assert found is not None
    assert (found.samples.tobytes(), found.words) == (samples.tobytes(), words)


@pytest.mark.parametrize("entry", [[], [-1], [2, 1], [7, 7, 7]])
def test_an_entry_that_is_none_is_not_found(entry: list[int]) -> None:
    assert unpack(np.asarray(entry, "<i4").view("<f4")) is None
