"""The gateway's line to a dispatcher that answers: greeting, jobs, events, questions."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from support.fake_dispatcher import FakeDispatcher
from support.messages import REQUEST_REPORT
from support.pools import job, pool
from tts_service import __version__
from tts_service.errors import Code, RequestFailed
from tts_service.gateway import client as client_module
from tts_service.gateway.channel import Audio
from tts_service.gateway.client import DispatcherClient
from tts_service.protocol import (
    PROTOCOL_VERSION,
    Bye,
    Cancel,
    Cancelled,
    Chunk,
    Done,
    Drain,
    Failed,
    Hello,
    JobKey,
    Metrics,
    MetricsQuery,
    Rekey,
    RequestReport,
    Status,
    StatusQuery,
    Submit,
)

Connect = Callable[..., DispatcherClient]


def test_a_client_greets_with_its_versions_and_learns_the_pools(dispatcher: FakeDispatcher, connect: Connect) -> None:
    dispatcher.pools = [pool("fast"), pool("good")]
    client = connect()
    assert (client.connected, client.catalogue, client.pools) == (False, None, {})
    dispatcher.start()
    dispatcher.until(lambda: client.connected and client.pools, "the connection")
    assert dispatcher.hellos[0] == Hello(PROTOCOL_VERSION, __version__)
    assert list(client.pools) == ["fast", "good"]
    assert client.catalogue is not None
    assert client.catalogue.warm


def test_a_change_of_the_catalogue_is_followed_and_no_pool_forgotten(
    dispatcher: FakeDispatcher, client: DispatcherClient
) -> None:
    dispatcher.pools = [pool("other", generation="g2")]
    dispatcher.announce()
    dispatcher.until(lambda: "other" in client.pools, "the change")
    # A pool whose engine is being loaded again is in no catalogue; requests for it can wait.
    assert client.pools.keys() == {"default", "other"}
    dispatcher.pools = [pool("default", generation="g3")]
    dispatcher.announce()
    dispatcher.until(lambda: client.pools["default"].generation == "g3", "the change")


def test_a_job_is_submitted_and_its_events_come_to_its_channel(
    dispatcher: FakeDispatcher, client: DispatcherClient
) -> None:
    one, two = client.open("one"), client.open("two")
    first, second = job(request_id="one"), job(request_id="two", text="Other.")
    one.submit(first)
    two.submit(second)
    assert dispatcher.expect(Submit, 2) == [Submit(first), Submit(second)]
    samples = np.array([0.25, -1.0], np.float32)
    dispatcher.send(Chunk(second.key, "g1", 0, 2), samples.tobytes())
    dispatcher.send(Done(first.key, "g1", 0, 0.5, worker=1))
    dispatcher.send(Failed(second.key, Code.ENGINE_FAILED, "broke"))
    assert dispatcher.next_event(one) == Done(first.key, "g1", 0, 0.5, worker=1)
    audio = dispatcher.next_event(two)
    assert isinstance(audio, Audio)
    assert (audio.key, audio.from_sample, audio.samples.tolist()) == (second.key, 0, [0.25, -1.0])
    assert dispatcher.next_event(two) == Failed(second.key, Code.ENGINE_FAILED, "broke")
    assert (one.outstanding, two.outstanding) == (set(), set())


def test_closing_a_channel_cancels_what_is_outstanding_and_hears_no_more(
    dispatcher: FakeDispatcher, client: DispatcherClient
) -> None:
    channel = client.open("request")
    for segment in (0, 1, 2):
        channel.submit(job(segment))
    dispatcher.expect(Submit, 3)
    dispatcher.send(Done(JobKey("request", 1, 1), "g1", 0, 0.5))
    dispatcher.next_event(channel)
    channel.close()
    assert dispatcher.expect(Cancel, 2) == [Cancel(JobKey("request", 0, 1)), Cancel(JobKey("request", 2, 1))]
    dispatcher.send(Chunk(JobKey("request", 0, 1), "g1", 0, 1), bytes(4))
    dispatcher.send(Cancelled(JobKey("request", 0, 1)))
    other = client.open("other")
    other.submit(job(request_id="other"))
    dispatcher.expect(Submit, 4)
    dispatcher.send(Done(job(request_id="other").key, "g1", 0, 0.5))
    # Events come in order: whatever the closed channel hears it would have heard by now.
    dispatcher.next_event(other)
    assert channel._events.empty()


def test_a_deadline_and_an_order_to_drain_are_passed_on(dispatcher: FakeDispatcher, client: DispatcherClient) -> None:
    channel = client.open("request")
    channel.rekey(JobKey("request", 1, 1), 123.5)
    client.drain(closed=True)
    assert dispatcher.expect(Rekey) == [Rekey(JobKey("request", 1, 1), 123.5)]
    assert dispatcher.expect(Drain) == [Drain(closed=True)]


def answering(dispatcher: FakeDispatcher, ask: Callable[[], Any], kind: type[Any], answer: Callable[[int], Any]) -> Any:
    """Ask on another thread, as requests do, and have the dispatcher answer."""
    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(ask)
        (question,) = dispatcher.expect(kind)
        # An answer to a question of somebody else, or one that came too late, is nobody's.
        dispatcher.send(answer(question.query + 1))
        dispatcher.send(answer(question.query))
        dispatcher.until(asked.done, "the answer")
        return asked.result()


def test_the_status_is_asked_for_and_answered(dispatcher: FakeDispatcher, client: DispatcherClient) -> None:
    def answer(query: int) -> Status:
        return Status(query, "life-1", 42, [], [], closed=False, n_requests=3)

    assert answering(dispatcher, client.status, StatusQuery, answer).pid == 42


def test_the_metrics_are_asked_for_and_answered(dispatcher: FakeDispatcher, client: DispatcherClient) -> None:
    text = answering(dispatcher, client.metrics, MetricsQuery, lambda query: Metrics(query, b"up 1\n"))
    assert text == b"up 1\n"


def test_a_question_that_is_not_answered_fails_in_time(
    dispatcher: FakeDispatcher, client: DispatcherClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "STATUS_TIMEOUT_S", 0.05)
    for ask in (client.status, client.metrics):
        with pytest.raises(RequestFailed) as caught:
            ask()
        assert (caught.value.code, caught.value.code.status) == (Code.NOT_READY, 503)
        assert caught.value.retry_after_s > 0


def test_heartbeats_say_how_many_requests_there_are_and_at_once_when_the_service_closes(
    dispatcher: FakeDispatcher, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    dispatcher.start()
    client = connect(n_requests=lambda: 7)
    dispatcher.until(lambda: dispatcher.beats, "a heartbeat")
    assert dispatcher.beats[0].n_requests == 7
    monkeypatch.setattr(client_module, "HEARTBEAT_S", 3600.0)
    n_hour_long_waits = len(dispatcher.beats) + 1
    dispatcher.until(lambda: len(dispatcher.beats) >= n_hour_long_waits, "the last heartbeat for an hour")
    dispatcher.closed = True
    dispatcher.announce()
    dispatcher.until(lambda: len(dispatcher.beats) > n_hour_long_waits, "a heartbeat out of turn")
    assert client.catalogue is not None
    assert client.catalogue.closed


def test_a_process_that_has_just_started_waits_for_its_first_word(
    dispatcher: FakeDispatcher, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = connect()
    monkeypatch.setattr(client_module, "FIRST_WORD_S", 0.05)
    assert client.known_pools() == []
    monkeypatch.setattr(client_module, "FIRST_WORD_S", 60.0)
    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(client.known_pools)
        dispatcher.start()
        dispatcher.until(asked.done, "the first word")
        assert [known.name for known in asked.result()] == ["default"]


@pytest.mark.parametrize("payload", [b"", b"abc", bytes(4), bytes(12)])
def test_audio_of_another_length_than_announced_is_no_audio(
    dispatcher: FakeDispatcher, client: DispatcherClient, payload: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    channel = client.open("request")
    channel.submit(job())
    dispatcher.expect(Submit)
    with caplog.at_level(logging.ERROR):
        dispatcher.send(Chunk(job().key, "g1", 0, 2), payload)
        dispatcher.send(Done(job().key, "g1", 2, 0.5))
        # The thread that owns the socket is still there to hear this.
        assert isinstance(dispatcher.next_event(channel), Done)
    assert "ignored a message" in caplog.text


@pytest.mark.parametrize("frame", [b"", b"\xc1", b"\x80", b"\x81\xa4type\xa5Hello"])
def test_a_message_that_cannot_be_read_is_logged_and_ignored(
    dispatcher: FakeDispatcher, client: DispatcherClient, frame: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    channel = client.open("request")
    channel.submit(job())
    dispatcher.expect(Submit)
    with caplog.at_level(logging.ERROR):
        dispatcher.send_raw(frame)
        dispatcher.send(Done(job().key, "g1", 0, 0.5))
        assert isinstance(dispatcher.next_event(channel), Done)
    assert "ignored a message" in caplog.text


def test_events_of_many_requests_on_many_threads_come_to_the_right_one(
    dispatcher: FakeDispatcher, client: DispatcherClient
) -> None:
    n_threads, n_requests = 8, 15

    def ask(thread: int) -> list[str]:
        heard = []
        for number in range(n_requests):
            channel = client.open(f"{thread}-{number}")
            channel.submit(job(request_id=channel.name))
            event = channel.receive(20.0)
            heard.append(event.key.request_id if event else "nothing")
            channel.close()
        return heard

    with ThreadPoolExecutor(n_threads) as threads:
        asked = [threads.submit(ask, thread) for thread in range(n_threads)]
        for number in range(n_threads * n_requests):
            submitted = dispatcher.expect(Submit, number + 1)[number]
            dispatcher.send(Done(submitted.job.key, "g1", 0, 0.5))
        for thread, future in enumerate(asked):
            dispatcher.until(future.done, "the last answer")
            assert future.result() == [f"{thread}-{number}" for number in range(n_requests)]


def test_a_report_is_passed_on(dispatcher: FakeDispatcher, client: DispatcherClient) -> None:
    client.report(REQUEST_REPORT)
    assert dispatcher.expect(RequestReport) == [REQUEST_REPORT]


def test_a_client_that_closes_says_goodbye_and_ends_its_thread(
    dispatcher: FakeDispatcher, client: DispatcherClient
) -> None:
    with ThreadPoolExecutor(1) as thread:
        closing = thread.submit(client.close)
        dispatcher.expect(Bye)
        closing.result(10.0)
    assert not client._thread.is_alive()
