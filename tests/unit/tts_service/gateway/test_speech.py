"""One request's audio: in text order, fanned out, with everything accounted for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.scripted_broker import ScriptedBroker, answer_whole, audio_of
from support.spoken import TEXTS, SpokenRequest, expected, silent
from tts_service.errors import Code, RequestFailed
from tts_service.gateway.utterance import segment_seed
from tts_service.protocol import FLOAT32_BYTES, Job, JobKey


def test_segments_are_heard_in_text_order() -> None:
    request = SpokenRequest(TEXTS)
    assert np.array_equal(request.audio(), expected(TEXTS))
    assert request.keys == [(0, 1), (1, 1), (2, 1), (3, 1), (4, 1)]


def test_segments_that_are_ready_in_another_order_are_heard_in_text_order() -> None:
    def last_first(broker: ScriptedBroker, job: Job) -> None:
        if job.key.segment == 3:
            for earlier in reversed(broker.posted):
                answer_whole(broker, earlier)
        elif job.key.segment > 3:
            answer_whole(broker, job)

    request = SpokenRequest(TEXTS, last_first, segments_ahead=4)
    assert np.array_equal(request.audio(), expected(TEXTS))


def test_chunks_of_several_segments_may_come_mixed() -> None:
    def in_turns(broker: ScriptedBroker, job: Job) -> None:
        if job.key.segment == 1:
            first = broker.posted[0]
            for start, stop in ((0, 50), (50, 51), (51, None)):
                broker.speak(job, start, stop)
                broker.speak(first, start, stop)
            broker.end(job)
            broker.end(first)

    request = SpokenRequest(TEXTS[:2], in_turns)
    assert np.array_equal(request.audio(), expected(TEXTS[:2]))


def test_a_chunk_is_handed_out_as_soon_as_it_is_there() -> None:
    request = SpokenRequest(TEXTS, silent)
    request.broker.script = lambda broker, job: broker.speak(job, 0, 10) if job.key.segment == 0 else None
    assert np.array_equal(next(request.pieces), audio_of(TEXTS[0])[:10])


def test_a_job_says_everything_that_its_audio_depends_on() -> None:
    request = SpokenRequest(TEXTS, max_segment_s=2.0)
    request.audio()
    job = request.broker.posted[1]
    assert (job.key, job.pool, job.generation) == (JobKey("r", 1, 1), "default", "g7")
    assert (job.voice, job.text, job.language, job.speed) == ("bert", TEXTS[1], "de", 1.25)
    assert (job.seed, job.streamed) == (segment_seed(11, TEXTS[1], 0), True)
    assert (job.from_sample, job.max_samples, job.client) == (0, 48000, "10.0.0.9")
    assert job.credit_bytes % FLOAT32_BYTES == 0


def test_the_same_text_twice_gets_another_seed_each_time_and_the_same_in_every_request() -> None:
    texts = ["Yes.", "No.", "Yes.", "Yes."]
    seeds = []
    for _ in range(2):
        request = SpokenRequest(texts)
        request.audio()
        seeds.append([job.seed for job in request.broker.posted])
    assert len(set(seeds[0])) == 4
    assert seeds[0] == seeds[1]
    assert seeds[0][2] == segment_seed(11, "Yes.", 1)


@pytest.mark.parametrize("ahead", [1, 2, 4])
def test_no_more_segments_are_asked_for_than_may_be_ahead_of_the_reader(ahead: int) -> None:
    texts = [f"Text number {number}." for number in range(9)]
    request = SpokenRequest(texts, segments_ahead=ahead)
    n_samples = 0
    for piece in request.pieces:
        n_samples += len(piece)
        lengths = np.cumsum([len(audio_of(text)) for text in texts])
        n_heard = int(np.searchsorted(lengths, n_samples, side="left"))
        assert len(request.broker.posted) <= n_heard + ahead
    assert len(request.broker.posted) == 9


def test_pieces_of_text_are_made_only_when_they_are_asked_for() -> None:
    made: list[int] = []

    def texts() -> Any:
        for number in range(1000):
            made.append(number)
            yield f"Text {number}."

    request = SpokenRequest(texts(), segments_ahead=3)
    next(request.pieces)
    # One is looked at beforehand, to know whether there is another.
    assert len(made) <= 4


def test_a_pause_is_put_behind_segments_in_whole_samples() -> None:
    request = SpokenRequest(TEXTS[:3], pause_s=0.01001)
    pause = np.zeros(240, np.float32)
    first, second, third = map(audio_of, TEXTS[:3])
    assert np.array_equal(request.audio(), np.concatenate([first, pause, second, pause, third, pause]))


def test_segments_ahead_wait_for_room_in_the_budget_and_the_first_one_never_does() -> None:
    texts = ["x" * 100] * 4
    request = SpokenRequest(texts, budget_bytes=1, segments_ahead=4)
    most = 0
    for _ in request.pieces:
        most = max(most, len(request.channel.outstanding))
    assert most <= 1
    assert len(request.broker.posted) == 4
    assert request.budget.n_bytes == 0


def test_the_account_says_what_the_request_has_used() -> None:
    def on_two_workers(broker: ScriptedBroker, job: Job) -> None:
        broker.speak(job, 0, None)
        broker.end(job, worker=job.key.segment % 2, queue_s=0.25 + job.key.segment)

    request = SpokenRequest(TEXTS, on_two_workers)
    n_samples = len(request.audio())
    account = request.speech.account
    assert (account.segments, account.attempts, account.workers, account.queue_s) == (5, 5, {0, 1}, 0.25)
    assert account.audio_s == pytest.approx(n_samples / 24000)
    assert account.compute_s == pytest.approx(0.05)
    assert account.first_audio_s is not None
    assert account.first_audio_s >= 0


def test_real_lengths_move_the_deadlines_of_the_segments_after_them() -> None:
    # Expected: 0.06 s a character; here it is 100 samples, about 0.004 s.
    texts = ["x" * 200] * 4
    request = SpokenRequest(texts, silent, segments_ahead=4)
    pieces = request.pieces
    request.broker.script = lambda broker, job: answer_whole(broker, job) if job.key.segment == 0 else None
    next(pieces)
    posted = {job.key: job.deadline_s for job in request.broker.posted}
    request.broker.fail(request.broker.posted[1], Code.ENGINE_FAILED)
    with pytest.raises(RequestFailed):
        list(pieces)
    assert [key.segment for key in request.broker.rekeyed] == [1, 2, 3]
    for key, deadline_s in request.broker.rekeyed.items():
        assert deadline_s < posted[key] - 0.25
