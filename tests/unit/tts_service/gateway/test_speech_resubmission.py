"""One request's audio, every sample once, whatever happens to its segments."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.properties import property_settings
from support.scripted_broker import Script, ScriptedBroker, answer_whole, audio_of
from support.spoken import TEXTS, SpokenRequest, expected, silent
from tts_service.errors import SUSPICIOUS, Code, RequestFailed
from tts_service.gateway import speech
from tts_service.gateway.pcm import Float32
from tts_service.protocol import Job, JobKey


def test_a_segment_whose_worker_dies_goes_on_at_the_exact_sample() -> None:
    def dies_once(broker: ScriptedBroker, job: Job) -> None:
        if job.key == JobKey("r", 1, 1):
            broker.speak(job, 0, 333)
            broker.fail(job, Code.WORKER_DIED)
        else:
            answer_whole(broker, job)

    request = SpokenRequest(TEXTS, dies_once)
    assert np.array_equal(request.audio(), expected(TEXTS))
    first, again = (request.broker.posted[request.keys.index(key)] for key in ((1, 1), (1, 2)))
    assert (again.from_sample, first.from_sample) == (333, 0)
    assert (again.text, again.seed, again.voice, again.generation) == (first.text, first.seed, first.voice, "g7")
    assert request.speech.account.attempts == len(TEXTS) + 1
    assert request.speech.account.continuations == 1


def test_a_death_in_the_middle_of_a_stream_is_inaudible() -> None:
    request = SpokenRequest(TEXTS[:1], silent)
    request.broker.script = lambda broker, job: broker.speak(job, job.from_sample, job.from_sample + 70)
    heard = [next(request.pieces)]
    for _ in range(3):
        request.broker.fail(request.broker.posted[-1], Code.WORKER_DIED)
        heard.append(next(request.pieces))
    request.broker.script = answer_whole
    request.broker.fail(request.broker.posted[-1], Code.WORKER_DIED)
    heard += request.pieces
    assert np.array_equal(np.concatenate(heard), audio_of(TEXTS[0]))
    assert [job.from_sample for job in request.broker.posted] == [0, 70, 140, 210, 280]


def test_late_chunks_of_a_dead_attempt_are_ignored() -> None:
    def haunted(broker: ScriptedBroker, job: Job) -> None:
        if job.key.attempt == 1:
            broker.speak(job, 0, 100)
            broker.fail(job, Code.WORKER_DIED)
            return
        dead = broker.posted[0]
        broker.speak(dead, 100, 200)
        broker.speak(job, 100, 150)
        broker.end(dead, 100)
        broker.fail(dead, Code.ENGINE_FAILED)
        broker.speak(dead, 150, 400)
        broker.speak(job, 150, None)
        broker.end(job)

    request = SpokenRequest(TEXTS[:1], haunted)
    assert np.array_equal(request.audio(), audio_of(TEXTS[0]))


def dying(n_times: int, code: Code, *, alone: bool = False) -> Script:
    """Return a script in which the first attempts fail and the next one answers."""

    def script(broker: ScriptedBroker, job: Job) -> None:
        if job.key.attempt <= n_times:
            broker.fail(job, code, alone=alone)
        else:
            answer_whole(broker, job)

    return script


def test_a_text_that_ends_workers_which_have_nothing_else_is_given_up_after_max_attempts() -> None:
    request = SpokenRequest(TEXTS[:1], dying(99, Code.WORKER_DIED, alone=True), max_attempts=3)
    error = request.fails()
    assert (error.code, error.param, error.code.status) == (Code.POISONOUS_TEXT, "input", 500)
    assert request.keys == [(0, 1), (0, 2), (0, 3)]
    assert np.array_equal(
        SpokenRequest(TEXTS[:1], dying(2, Code.WORKER_DIED, alone=True), max_attempts=3).audio(), audio_of(TEXTS[0])
    )


@pytest.mark.parametrize("code", sorted(SUSPICIOUS))
def test_a_death_beside_others_does_not_count_and_the_suspect_is_tried_alone(code: Code) -> None:
    request = SpokenRequest(TEXTS[:1], dying(20, code), max_attempts=1)
    assert np.array_equal(request.audio(), audio_of(TEXTS[0]))
    assert [job.alone for job in request.broker.posted] == [False] + 20 * [True]


@pytest.mark.parametrize("code", [Code.DISPATCHER_LOST, Code.DRAINING])
def test_a_lost_or_leaving_dispatcher_costs_no_attempt(code: Code) -> None:
    request = SpokenRequest(TEXTS, dying(50, code), max_attempts=1)
    assert np.array_equal(request.audio(), expected(TEXTS))
    assert Counter(segment for segment, _ in request.keys) == dict.fromkeys(range(5), 51)
    assert not any(job.alone for job in request.broker.posted)


@pytest.mark.parametrize("code", sorted(code for code in Code if not code.resubmittable))
def test_any_other_failure_is_the_requests_with_all_that_came_with_it(code: Code) -> None:
    request = SpokenRequest(TEXTS, lambda broker, job: broker.fail(job, code, "it broke"))
    error = request.fails()
    assert (error.code, error.message, error.param, error.retry_after_s) == (code, "it broke", "input", 3.0)
    assert {attempt for _, attempt in request.keys} == {1}


def test_a_failure_of_a_later_segment_ends_the_request_though_the_first_is_fine() -> None:
    def second_fails(broker: ScriptedBroker, job: Job) -> None:
        if job.key.segment == 1:
            broker.fail(job, Code.ENGINE_FAILED)
        else:
            answer_whole(broker, job)

    assert SpokenRequest(TEXTS, second_fails).fails().code is Code.ENGINE_FAILED


@pytest.mark.parametrize(("start", "n_done"), [(101, None), (99, None), (0, None)])
def test_a_gap_or_an_overlap_of_samples_is_an_error_and_never_heard(start: int, n_done: int | None) -> None:
    def wrong(broker: ScriptedBroker, job: Job) -> None:
        broker.speak(job, 0, 100)
        broker.speak(job, start, None)
        broker.end(job, n_done)

    request = SpokenRequest(TEXTS[:1], wrong)
    heard: list[Float32] = []
    with pytest.raises(RequestFailed, match=f"from sample {start}, expected 100") as caught:
        heard.extend(request.pieces)
    assert caught.value.code is Code.INTERNAL
    assert [len(piece) for piece in heard] == [100]


@pytest.mark.parametrize("n_samples", [0, 399, 401])
def test_a_segment_that_ends_at_another_length_than_it_has_is_an_error(n_samples: int) -> None:
    def wrong(broker: ScriptedBroker, job: Job) -> None:
        broker.speak(job, 0, None)
        broker.end(job, n_samples)

    error = SpokenRequest(TEXTS[:1], wrong).fails()
    assert (error.code, error.message) == (Code.INTERNAL, f"400 of {n_samples} samples came")


def test_a_segment_without_any_sample_is_no_error() -> None:
    def first_is_empty(broker: ScriptedBroker, job: Job) -> None:
        if job.key.segment == 0:
            broker.end(job, 0)
        else:
            answer_whole(broker, job)

    assert np.array_equal(SpokenRequest(["One.", "Two."], first_is_empty).audio(), audio_of("Two."))


def test_a_cancellation_that_nobody_asked_for_is_an_error() -> None:
    assert SpokenRequest(TEXTS, lambda broker, job: broker.cancel(job)).fails().code is Code.INTERNAL


@property_settings(150)
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_any_order_of_chunks_ends_deaths_and_echoes_gives_the_same_audio(seed: int, ahead: int) -> None:
    luck = random.Random(seed)

    def something_happens() -> None:
        broker = request.broker
        job = luck.choice([job for job in broker.posted if job.key in request.channel.outstanding])
        reached = at.setdefault(job.key, job.from_sample)
        n_left = len(audio_of(job.text)) - reached
        event = luck.choice(["chunk", "chunk", "chunk", "death", "loss", "echo"]) if n_left else "end"
        if event == "chunk":
            at[job.key] = reached + luck.randint(1, n_left)
            broker.speak(job, reached, at[job.key])
        elif event == "end":
            broker.end(job)
        elif event == "echo":
            # An attempt that is over, where there is one, says everything again.
            for dead in [job for job in broker.posted if job.key not in request.channel.outstanding][:1]:
                broker.speak(dead, 0, None)
        else:
            broker.fail(job, Code.WORKER_DIED if event == "death" else Code.DISPATCHER_LOST)

    at: dict[JobKey, int] = {}
    request = SpokenRequest(TEXTS, silent, check_client=something_happens, segments_ahead=ahead)
    with pytest.MonkeyPatch.context() as patch:
        # An echo is no event: the request would wait for the next one.
        patch.setattr(speech, "LOOK_S", 0.0)
        assert np.array_equal(request.audio(), expected(TEXTS))
    assert request.channel.outstanding == set()
