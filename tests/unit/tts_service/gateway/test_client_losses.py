"""The gateway's line to a dispatcher that is away, silent, new, leaving, or of another version."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.fake_dispatcher import FakeDispatcher
from support.messages import REQUEST_REPORT
from support.pools import job
from support.service import wait_until
from tts_service.errors import Code
from tts_service.gateway import client as client_module
from tts_service.gateway.channel import Channel
from tts_service.gateway.client import DispatcherClient
from tts_service.protocol import Cancel, Done, Failed, JobKey, Rekey, RequestReport, Submit

Connect = Callable[..., DispatcherClient]
Lose = Callable[[DispatcherClient], None]
FENCE = JobKey("fence", 0, 1)


@pytest.fixture
def lose(monkeypatch: pytest.MonkeyPatch) -> Lose:
    """Return a function that waits until a client takes its dispatcher, whom nobody moves meanwhile, for lost."""

    def wait_for_loss(client: DispatcherClient) -> None:
        # For so long only: afterwards a test that a busy machine holds up must not look like silence.
        monkeypatch.setattr(client_module, "SILENCE_S", 0.1)
        wait_until(lambda: not client.connected, 10.0, "the loss")
        monkeypatch.setattr(client_module, "SILENCE_S", 60.0)

    return wait_for_loss


def commands_are_through(dispatcher: FakeDispatcher, client: DispatcherClient) -> None:
    """Wait until everything that the client was told before has been sent or held back."""
    # Before the socket is connected a fence is dropped, as any such message is.
    dispatcher.until(lambda: dispatcher.hellos, "a Hello")
    n_fences = len(dispatcher.all_of(Rekey))
    client.rekey(FENCE, 0.0)
    dispatcher.expect(Rekey, n_fences + 1)


def failure(dispatcher: FakeDispatcher, channel: Channel) -> tuple[JobKey, str]:
    """Return key and code of the next event, which is a failure."""
    event = dispatcher.next_event(channel)
    assert isinstance(event, Failed)
    return event.key, event.code


def submit_first(dispatcher: FakeDispatcher, client: DispatcherClient) -> Channel:
    """Return a channel with one job, which the dispatcher has."""
    channel = client.open("request")
    channel.submit(job())
    dispatcher.expect(Submit)
    return channel


def test_no_job_is_sent_before_the_welcome(dispatcher: FakeDispatcher, connect: Connect) -> None:
    dispatcher.greets = False
    dispatcher.start()
    client = connect()
    channel = client.open("request")
    channel.submit(job())
    commands_are_through(dispatcher, client)
    dispatcher.until(lambda: len(dispatcher.hellos) >= 3, "more hellos")
    assert dispatcher.all_of(Submit) == []
    assert not client.connected
    dispatcher.greets = True
    assert dispatcher.expect(Submit) == [Submit(job())]
    assert client.connected


def test_a_job_that_is_cancelled_while_it_waits_is_never_sent(dispatcher: FakeDispatcher, connect: Connect) -> None:
    dispatcher.greets = False
    dispatcher.start()
    client = connect()
    dispatcher.until(lambda: dispatcher.hellos, "a Hello")
    gone, staying = client.open("gone"), client.open("staying")
    gone.submit(job(request_id="gone"))
    staying.submit(job(request_id="staying"))
    gone.close()
    commands_are_through(dispatcher, client)
    dispatcher.greets = True
    dispatcher.expect(Submit)
    commands_are_through(dispatcher, client)
    assert dispatcher.all_of(Submit) == [Submit(job(request_id="staying"))]


def test_a_silent_dispatcher_is_lost_and_found_again(
    dispatcher: FakeDispatcher, client: DispatcherClient, lose: Lose
) -> None:
    # Nobody moves the dispatcher meanwhile.
    lose(client)
    dispatcher.until(lambda: client.connected, "the return")


def test_jobs_wait_while_the_dispatcher_is_silent_and_are_sent_once_it_speaks(
    dispatcher: FakeDispatcher, client: DispatcherClient, lose: Lose
) -> None:
    lose(client)
    client.open("request").submit(job())
    dispatcher.expect(Submit)
    commands_are_through(dispatcher, client)
    assert dispatcher.all_of(Submit) == [Submit(job())]


def test_jobs_of_a_dispatcher_that_died_are_lost_once_another_is_there(
    dispatcher: FakeDispatcher, client: DispatcherClient, lose: Lose
) -> None:
    channel = submit_first(dispatcher, client)
    dispatcher.end()
    lose(client)
    # Until then they may come back: nothing is said about them.
    assert channel.receive(0.0) is None
    channel.submit(job(1))
    dispatcher.start("life-2")
    assert failure(dispatcher, channel) == (job().key, Code.DISPATCHER_LOST)
    again = job(0, 2, from_sample=480)
    channel.submit(again)
    dispatcher.expect(Submit, 3)
    commands_are_through(dispatcher, client)
    assert dispatcher.all_of(Submit)[1:] == [Submit(job(1)), Submit(again)]
    dispatcher.send(Done(again.key, "g1", 480, 0.5))
    assert dispatcher.next_event(channel) == Done(again.key, "g1", 480, 0.5)


def test_jobs_of_a_dispatcher_that_was_replaced_at_once_are_lost(
    dispatcher: FakeDispatcher, client: DispatcherClient
) -> None:
    channel = submit_first(dispatcher, client)
    dispatcher.end()
    dispatcher.start("life-2")
    assert failure(dispatcher, channel) == (job().key, Code.DISPATCHER_LOST)
    assert client.connected


def test_jobs_of_a_dispatcher_that_has_forgotten_the_gateway_are_lost(
    dispatcher: FakeDispatcher, client: DispatcherClient
) -> None:
    # It took the gateway for dead, and has dropped its jobs; it is the same life of the dispatcher.
    channel = submit_first(dispatcher, client)
    n_hellos = len(dispatcher.hellos)
    dispatcher.forget()
    assert failure(dispatcher, channel) == (job().key, Code.DISPATCHER_LOST)
    assert len(dispatcher.hellos) > n_hellos
    again = job(0, 2)
    channel.submit(again)
    assert dispatcher.expect(Submit, 2)[1] == Submit(again)


def test_each_job_is_lost_only_once(dispatcher: FakeDispatcher, client: DispatcherClient) -> None:
    channel = submit_first(dispatcher, client)
    dispatcher.forget()
    # Several messages reach a dispatcher that knows nobody; it answers each.
    for number in range(5):
        client.rekey(JobKey("other", number, 1), 0.0)
    assert failure(dispatcher, channel) == (job().key, Code.DISPATCHER_LOST)
    dispatcher.until(lambda: client.connected, "the return")
    commands_are_through(dispatcher, client)
    channel.submit(job(0, 2))
    dispatcher.expect(Submit, 2)
    commands_are_through(dispatcher, client)
    assert channel.receive(0.0) is None
    assert channel.outstanding == {JobKey("request", 0, 2)}


def test_a_dispatcher_that_leaves_gets_no_more_jobs_and_its_successor_gets_them(
    dispatcher: FakeDispatcher, client: DispatcherClient
) -> None:
    channel = submit_first(dispatcher, client)
    dispatcher.draining = True
    dispatcher.announce()
    dispatcher.until(lambda: client.catalogue and client.catalogue.draining, "the notice")
    channel.submit(job(1))
    commands_are_through(dispatcher, client)
    assert dispatcher.all_of(Submit) == [Submit(job())]
    # What is in its slots still comes.
    dispatcher.send(Done(job().key, "g1", 0, 0.5))
    assert isinstance(dispatcher.next_event(channel), Done)
    dispatcher.end()
    dispatcher.draining = False
    dispatcher.start("life-2")
    assert dispatcher.expect(Submit, 2)[1] == Submit(job(1))
    assert channel.receive(0.0) is None


def test_a_closed_service_still_gets_the_jobs_of_requests_in_progress(
    dispatcher: FakeDispatcher, client: DispatcherClient
) -> None:
    dispatcher.closed = True
    dispatcher.announce()
    dispatcher.until(lambda: client.catalogue and client.catalogue.closed, "the notice")
    client.open("request").submit(job(3))
    assert dispatcher.expect(Submit) == [Submit(job(3))]


def test_a_refusal_is_kept_told_once_and_taken_back(dispatcher: FakeDispatcher, connect: Connect) -> None:
    told: list[str] = []
    dispatcher.refusal = "gateway is version 0.1.0, workers are 9.9"
    dispatcher.start()
    client = connect(on_refused=told.append)
    dispatcher.until(lambda: len(dispatcher.hellos) >= 4, "more hellos")
    dispatcher.until(lambda: client.refused, "the refusal")
    assert client.refused == dispatcher.refusal
    assert not client.connected
    assert told == [dispatcher.refusal]
    dispatcher.refusal = ""
    dispatcher.until(lambda: client.connected, "the welcome")
    assert client.refused == ""
    assert told == ["gateway is version 0.1.0, workers are 9.9"]


def test_requests_fail_when_the_dispatcher_does_not_come_back_in_time(
    dispatcher: FakeDispatcher, connect: Connect, lose: Lose
) -> None:
    dispatcher.start()
    client = connect(reconnect_timeout_s=0.3)
    dispatcher.until(lambda: client.connected, "the connection")
    channel = submit_first(dispatcher, client)
    dispatcher.end()
    lose(client)
    channel.submit(job(1))
    failed = {failure(dispatcher, channel) for _ in range(2)}
    assert failed == {(job(0).key, Code.NOT_READY), (job(1).key, Code.NOT_READY)}
    # What was given up is not sent to a dispatcher that comes later.
    dispatcher.start("life-2")
    dispatcher.until(lambda: client.connected, "the return")
    commands_are_through(dispatcher, client)
    assert dispatcher.all_of(Submit) == [Submit(job())]
    channel.submit(job(2))
    assert dispatcher.expect(Submit, 2)[1] == Submit(job(2))


def test_requests_that_come_after_the_dispatcher_was_given_up_fail_at_once(
    dispatcher: FakeDispatcher, connect: Connect, lose: Lose
) -> None:
    dispatcher.start()
    client = connect(reconnect_timeout_s=0.0)
    dispatcher.until(lambda: client.connected, "the connection")
    channel = submit_first(dispatcher, client)
    dispatcher.end()
    lose(client)
    assert failure(dispatcher, channel) == (job().key, Code.NOT_READY)
    channel.submit(job(1))
    assert failure(dispatcher, channel) == (job(1).key, Code.NOT_READY)


def test_reports_wait_for_the_dispatcher_a_bounded_number_of_them(
    dispatcher: FakeDispatcher, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "MAX_REPORTS", 3)
    dispatcher.greets = False
    dispatcher.start()
    client = connect()
    dispatcher.until(lambda: dispatcher.hellos, "a Hello")
    reports = [RequestReport(f"/{number}", "complete", 0.1) for number in range(5)]
    for report in reports:
        client.report(report)
    commands_are_through(dispatcher, client)
    assert dispatcher.all_of(RequestReport) == []
    dispatcher.greets = True
    assert dispatcher.expect(RequestReport, 3) == reports[-3:]
    client.report(REQUEST_REPORT)
    assert dispatcher.expect(RequestReport, 4)[3] == REQUEST_REPORT


def test_a_cancellation_is_passed_on_though_its_job_was_lost(
    dispatcher: FakeDispatcher, client: DispatcherClient
) -> None:
    channel = submit_first(dispatcher, client)
    channel.close()
    assert dispatcher.expect(Cancel) == [Cancel(job().key)]
    dispatcher.forget()
    dispatcher.until(lambda: client.connected, "the return")
    commands_are_through(dispatcher, client)
    assert dispatcher.all_of(Submit) == [Submit(job())]
