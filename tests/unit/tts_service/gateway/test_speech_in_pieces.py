"""A speech whose text comes over time: in order, in turns with others, and no underrun where there was no text."""

from __future__ import annotations

import numpy as np
import pytest

from support.scripted_broker import ScriptedBroker, answer_whole, audio_of
from support.spoken import TEXTS, SpokenRequest, expected, silent
from tts_service.gateway.pacing import Pace
from tts_service.gateway.text_feed import TextFeed
from tts_service.protocol import Job
from tts_service.text.front_end import Reading


def feed() -> TextFeed:
    """Return an empty feed."""
    return TextFeed(Reading("en", 300), [], "anna", 10_000)


def test_what_comes_later_is_heard_in_order_with_the_seeds_of_one_request() -> None:
    source = feed()
    request = SpokenRequest(source)
    heard = []
    for text in TEXTS:
        assert len(next(request.pieces)) == 0
        source.push(text)
        source.flush()
        assert request.speech.is_idle
        while True:
            samples = next(request.pieces)
            if not len(samples) and request.speech.is_idle:
                break
            heard.append(samples)
    source.end()
    assert list(request.pieces) == []
    assert np.array_equal(np.concatenate(heard), expected(TEXTS))
    whole = SpokenRequest(TEXTS)
    whole.audio()
    assert [job.seed for job in request.broker.posted] == [job.seed for job in whole.broker.posted]
    assert [job.key for job in request.broker.posted] == [job.key for job in whole.broker.posted]


def test_a_feed_that_ends_without_text_has_no_audio() -> None:
    source = feed()
    source.end()
    assert list(SpokenRequest(source).pieces) == []


def test_text_that_comes_while_another_segment_is_made_is_asked_for_at_once() -> None:
    source = feed()
    source.push(TEXTS[0])
    source.flush()
    request = SpokenRequest(source, silent)
    assert len(next(request.pieces)) == 0
    source.push(TEXTS[1])
    source.flush()
    request.broker.script = answer_whole
    request.broker.speak(request.broker.posted[0], 0, 10)
    while not len(next(request.pieces)):
        pass
    assert request.keys == [(0, 1), (1, 1)]


def test_a_reader_with_other_speeches_hears_of_every_wait() -> None:
    source = feed()
    source.push(TEXTS[0])
    source.end()

    def late(broker: ScriptedBroker, job: Job) -> None:
        broker.speak(job, 0, 10)

    request = SpokenRequest(source, late)
    request.speech.in_turns = True
    heard = [len(next(request.pieces)) for _ in range(3)]
    assert 0 in heard
    assert 10 in heard
    request.broker.speak(request.broker.posted[0], 10, None)
    request.broker.end(request.broker.posted[0])
    rest = np.concatenate(list(request.pieces))
    assert np.array_equal(rest, audio_of(TEXTS[0])[10:])


def pace() -> Pace:
    """Return the pace of a stream that came at 100 s."""
    return Pace(100.0, True, 1.0, 0.0, 0.0, 3.0, 0.1)


def test_a_listener_without_text_has_not_run_dry() -> None:
    ours = pace()
    ours.add(10)
    ours.delivered(101.0, 0.0, waited=True)
    # One second of audio was heard by 102; the text went on at 110, its audio came at 110.5.
    ours.paused(110.0, 1.0)
    assert ours.delivered(110.5, 1.0, waited=True) == 0.0
    assert ours.delivered(111.5, 1.5, waited=True) == pytest.approx(0.5)


def test_text_that_comes_in_time_is_no_pause() -> None:
    ours = pace()
    ours.add(10)
    ours.delivered(101.0, 0.0, waited=True)
    ours.paused(101.5, 1.0)
    assert ours.delivered(103.0, 1.0, waited=True) == pytest.approx(1.0)
