"""The workers' half as a gateway meets it: greeting, jobs, cancellation, and gateways that vanish."""

from __future__ import annotations

import time

import numpy as np
import pytest

from support.fake_gateway import FakeGateway
from support.samples import tone_samples
from support.workers_half import Half
from tts_service import __version__
from tts_service.errors import Code
from tts_service.protocol import (
    PROTOCOL_VERSION,
    Alive,
    Beat,
    Cancelled,
    Catalogue,
    Done,
    Failed,
    Introduce,
    Refused,
    Welcome,
)

pytestmark = pytest.mark.system

SLOW = "".join(f"[[late amount=0.2 at={n}]]" for n in range(40)) + "la " * 250
"""40 s of audio that take 8 s."""


def wait_idle(gateway: FakeGateway) -> None:
    """Wait until nothing is in a slot or in the queue."""
    gateway.wait(lambda: all(pool.queued == pool.running == 0 for pool in gateway.status().pools), "an idle half", 10.0)


def test_a_gateway_is_welcomed_and_told_what_there_is(half: Half) -> None:
    with FakeGateway(half.runtime_dir) as gateway:
        gateway.hello()
        welcome = gateway.wait_for(Welcome)
        gateway.wait_warm()
        (pool,) = gateway.catalogue().pools
        assert (pool.name, pool.engine.name, pool.n_workers, pool.n_slots) == ("default", "tone", 2, 4)
        gateway.send(Alive())
        assert gateway.wait_for(Beat) == Beat(welcome.incarnation)
        assert gateway.status().incarnation == welcome.incarnation


def test_a_stranger_is_asked_for_its_name_and_its_job_is_not_taken(half: Half) -> None:
    with FakeGateway(half.runtime_dir, talks=False) as gateway:
        key = gateway.submit("Hello.")
        assert gateway.wait_for(Introduce) == Introduce()
        assert gateway.answers[key].lasts == []


@pytest.mark.parametrize("changes", [{"protocol": PROTOCOL_VERSION + 1}, {"package": "0.0.0"}])
def test_a_gateway_of_another_version_is_refused_and_the_half_goes_on(
    half: Half, gateway: FakeGateway, changes: dict[str, object]
) -> None:
    with FakeGateway(half.runtime_dir) as stranger:
        stranger.hello(**changes)
        refused = stranger.wait_for(Refused)
        assert refused.package == __version__
        assert "restart" in refused.message
    assert isinstance(gateway.last(gateway.submit("Hello.")), Done)


def test_a_job_is_answered_with_exactly_its_samples(gateway: FakeGateway) -> None:
    text = "Hello, this is a text."
    key = gateway.submit(text)
    last = gateway.last(key)
    assert isinstance(last, Done)
    (pool,) = gateway.catalogue().pools
    samples = gateway.answer(key).samples
    assert last.n_samples == len(samples) == tone_samples(text)
    assert last.generation == pool.generation
    assert last.worker in (0, 1)
    assert np.isfinite(samples).all()
    assert 0.2 < np.abs(samples).max() <= 1.0


def test_a_continuation_is_the_tail_of_the_whole(gateway: FakeGateway) -> None:
    text = "Hello, this is a text."
    whole = gateway.answer(gateway.submit(text)).samples
    for from_sample in (1, 6000, len(whole) - 1, len(whole)):
        answer = gateway.answer(gateway.submit(text, attempt=2, from_sample=from_sample))
        assert answer.samples.tobytes() == whole[from_sample:].tobytes()
        (last,) = answer.lasts
        assert isinstance(last, Done)
        assert last.n_samples == len(whole)


def test_many_jobs_at_once_are_each_answered_once_with_their_own_samples(gateway: FakeGateway) -> None:
    texts = ["la " * n for n in range(1, 31)]
    voices = [f"hz{300 + 100 * (n % 10)}" for n in range(30)]
    together = [gateway.submit(text, voice=voice) for text, voice in zip(texts, voices, strict=True)]
    answers = [gateway.answer(key).samples for key in together]
    for text, voice, samples in zip(texts, voices, answers, strict=True):
        alone = gateway.answer(gateway.submit(text, voice=voice)).samples
        assert samples.tobytes() == alone.tobytes()
    assert [len(gateway.answers[key].lasts) for key in together] == [1] * 30


def test_a_job_for_another_generation_is_refused(gateway: FakeGateway) -> None:
    last = gateway.last(gateway.submit("Hello.", generation="0123456789abcdef"))
    assert isinstance(last, Failed)
    assert last.code == Code.GENERATION_CHANGED


def test_an_unknown_voice_is_an_error_and_not_the_default_voice(gateway: FakeGateway) -> None:
    last = gateway.last(gateway.submit("Hello.", voice="nobody"))
    assert isinstance(last, Failed)
    assert (last.code, last.param) == (Code.VOICE_NOT_FOUND, "voice")


def test_a_cancelled_job_frees_its_slot_and_its_neighbours_go_on(gateway: FakeGateway) -> None:
    # Urgent enough for every slot, less so than the one that comes later.
    keys = [gateway.submit(SLOW, deadline_s=time.monotonic() + 1.5) for _ in range(4)]
    # The engine takes turns, the earliest deadline first: of each worker's two only one has begun to sound.
    gateway.wait_for_audio(*keys[:2])
    urgent = gateway.submit("waits for a slot")
    assert gateway.status().pools[0].queued == 1
    gateway.cancel(keys[3])
    assert gateway.last(keys[3]) == Cancelled(keys[3])
    assert isinstance(gateway.last(urgent), Done)
    assert [gateway.answers[key].lasts for key in keys[:3]] == [[], [], []]
    for key in keys[:3]:
        gateway.cancel(key)
        assert gateway.last(key) == Cancelled(key)
    wait_idle(gateway)


def test_the_jobs_of_a_gateway_that_vanishes_are_stopped(half: Half, gateway: FakeGateway) -> None:
    with FakeGateway(half.runtime_dir) as other:
        other.catalogue()
        keys = [other.submit(SLOW) for _ in range(6)]
        other.wait_for_audio(*keys[:2])
        (pool,) = gateway.status().pools
        assert (pool.running, pool.queued) == (4, 2)
    wait_idle(gateway)
    assert isinstance(gateway.last(gateway.submit("Hello.")), Done)


def test_the_jobs_of_a_gateway_that_falls_silent_are_stopped(half: Half, gateway: FakeGateway) -> None:
    with FakeGateway(half.runtime_dir) as silent:
        silent.catalogue()
        silent.submit(SLOW)
        silent.talks = False
        # Its socket stays open and takes everything: only the missing heartbeats give it away.
        gateway.wait(lambda: gateway.status().pools[0].running == 1, "the job in its slot")
        wait_idle(gateway)
        silent.talks = True
        silent.wait_for(Introduce)
        silent.hello()
        silent.wait_for(Catalogue)
        assert isinstance(silent.last(silent.submit("Hello again.")), Done)


def test_a_gateway_that_says_goodbye_has_its_jobs_stopped_at_once(half: Half, gateway: FakeGateway) -> None:
    with FakeGateway(half.runtime_dir) as leaving:
        leaving.catalogue()
        leaving.wait_for_audio(leaving.submit(SLOW))
        leaving.bye()
        wait_idle(gateway)


def test_garbage_from_one_gateway_does_not_disturb_another(half: Half, gateway: FakeGateway) -> None:
    with FakeGateway(half.runtime_dir) as rude:
        rude._socket.send_multipart([b"garbage", b"more", b""])
        rude._socket.send(b"")
        rude.catalogue()
    assert isinstance(gateway.last(gateway.submit("Hello.")), Done)
    assert "ignored a message of gateway" in half.text_of_log()
