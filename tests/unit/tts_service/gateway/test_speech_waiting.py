"""How long a request waits, for whom, and what it leaves behind."""

from __future__ import annotations

import numpy as np
import pytest

from support.scripted_broker import ScriptedBroker, answer_whole, audio_of
from support.spoken import TEXTS, Clock, SpokenRequest, expected, silent
from tts_service.errors import ClientGone, Code
from tts_service.gateway import speech
from tts_service.protocol import Job


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that goes on by 20 s each time that a request looks after its client, and a wait that takes no time."""
    made = Clock(20.0)
    monkeypatch.setattr(speech, "time", made)
    monkeypatch.setattr(speech, "LOOK_S", 0.0)
    return made


def test_a_request_that_hears_nothing_fails_in_time(clock: Clock) -> None:
    error = SpokenRequest(TEXTS, silent, check_client=clock.look, progress_timeout_s=60.0).fails()
    assert (error.code, error.code.status) == (Code.TIMED_OUT, 504)
    assert "60 s" in error.message
    assert clock.n_looks == 4


def test_a_request_that_stops_hearing_anything_fails_in_time(clock: Clock) -> None:
    request = SpokenRequest(TEXTS, silent, check_client=clock.look, progress_timeout_s=60.0)
    request.broker.script = lambda broker, job: broker.speak(job, 0, 10) if job.key.segment == 0 else None
    next(request.pieces)
    heard_at = clock.n_looks
    assert request.fails().code is Code.TIMED_OUT
    assert clock.n_looks == heard_at + 4


def test_progress_of_any_segment_keeps_a_request_alive(clock: Clock) -> None:
    def one_chunk_a_look(n_looks: int) -> None:
        request.broker.speak(request.broker.posted[-1], n_looks - 1, n_looks)
        if n_looks == 12:
            answer_whole(request.broker, request.broker.posted[0])

    request = SpokenRequest(["One.", "Two."], silent, check_client=clock.look, progress_timeout_s=60.0)
    clock.on_look = one_chunk_a_look
    assert np.array_equal(next(request.pieces), audio_of("One.")[:200])


def test_what_a_dead_attempt_still_says_is_no_progress(clock: Clock) -> None:
    def haunted(broker: ScriptedBroker, job: Job) -> None:
        if job.key.attempt == 1:
            broker.fail(job, Code.WORKER_DIED)

    request = SpokenRequest(TEXTS[:1], haunted, check_client=clock.look, progress_timeout_s=60.0)
    clock.on_look = lambda n_looks: request.broker.speak(request.broker.posted[0], 0, 1)
    assert request.fails().code is Code.TIMED_OUT


def test_a_reader_that_takes_its_time_does_not_time_its_request_out(clock: Clock) -> None:
    request = SpokenRequest(TEXTS, check_client=clock.look, progress_timeout_s=60.0)
    heard = []
    for piece in request.pieces:
        heard.append(piece)
        clock.now_s += 1000.0
    assert np.array_equal(np.concatenate(heard), expected(TEXTS))


@pytest.mark.parametrize("streamed", [True, False])
def test_a_request_may_limit_the_wait_for_its_audio(clock: Clock, streamed: bool) -> None:
    request = SpokenRequest(TEXTS, silent, check_client=clock.look, streamed=streamed, timeout_s=50.0)
    error = request.fails()
    assert (error.code, error.param) == (Code.TIMED_OUT, "timeout")
    assert "timeout = 50" in error.message
    assert clock.n_looks == 3
    assert {job.give_up_s for job in request.broker.posted} == {1050.0}


@pytest.mark.parametrize("streamed", [True, False])
def test_the_limit_ends_with_the_first_audio_of_a_stream_and_with_the_last_of_other_answers(
    clock: Clock, streamed: bool
) -> None:
    request = SpokenRequest(TEXTS[:1], silent, check_client=clock.look, streamed=streamed, timeout_s=50.0)
    clock.on_look = lambda n_looks: request.broker.speak(request.broker.posted[0], n_looks - 1, n_looks)
    if streamed:
        assert len([next(request.pieces) for _ in range(10)]) == 10
    else:
        assert request.fails().param == "timeout"


def test_a_client_that_leaves_ends_the_request_and_cancels_what_is_outstanding() -> None:
    gone: list[bool] = []

    def check() -> None:
        if gone:
            raise ClientGone("left")

    def only_the_first(broker: ScriptedBroker, job: Job) -> None:
        if job.key.segment == 0:
            answer_whole(broker, job)

    request = SpokenRequest(TEXTS, only_the_first, check_client=check, segments_ahead=3)
    for _ in range(2):
        next(request.pieces)
    gone.append(True)
    with pytest.raises(ClientGone):
        next(request.pieces)
    request.speech.close()
    assert [key.segment for key in request.broker.withdrawn] == [0, 1, 2]
    assert request.broker.forgotten == ["r"]
    assert request.budget.n_bytes == 0


def test_closing_cancels_nothing_that_has_ended_and_may_be_done_twice() -> None:
    request = SpokenRequest(TEXTS)
    request.audio()
    request.speech.close()
    request.speech.close()
    assert request.broker.withdrawn == []
    assert request.budget.n_bytes == 0
