"""A worker that dies, stops or hangs: its jobs are answered, it is replaced within its limit, the other goes on."""

from __future__ import annotations

import os
import signal

import pytest

from support.fake_gateway import FakeGateway
from support.samples import tone_samples
from support.service import engine_options
from support.workers_half import QUICK_LIMITS, Half, running_half
from tts_service.errors import Code
from tts_service.protocol import Done, Failed, JobKey, Phase

pytestmark = pytest.mark.system

TEXT = "Hello, this is a text."
SLOW = "".join(f"[[late amount=0.2 at={n}]]" for n in range(40)) + "la " * 250
"""40 s of audio that take 8 s."""


def speak(gateway: FakeGateway, n: int = 1) -> list[JobKey]:
    """Have some plain jobs spoken, all of which must succeed; return their keys."""
    keys = [gateway.submit(TEXT) for _ in range(n)]
    for key in keys:
        last = gateway.last(key)
        assert isinstance(last, Done)
        assert last.n_samples == tone_samples(TEXT) == len(gateway.answers[key].samples)
    return keys


def failure(gateway: FakeGateway, key: JobKey) -> Failed:
    """Return the failure in which a job must end."""
    last = gateway.last(key)
    assert isinstance(last, Failed), last
    return last


def test_a_killed_worker_fails_its_jobs_alone_and_is_back_with_a_fresh_process(gateway: FakeGateway) -> None:
    on_first = gateway.submit(SLOW)
    gateway.wait_for_audio(on_first)
    index = next(worker.index for worker in gateway.status().workers if worker.slots["active"])
    on_other = gateway.submit(SLOW)
    gateway.wait_for_audio(on_other)
    before = gateway.worker(index)
    os.kill(before.pid, signal.SIGKILL)
    lost = failure(gateway, on_first)
    assert lost.code == Code.WORKER_DIED
    assert "SIGKILL" in lost.message
    assert gateway.answers[on_other].lasts == []
    after = gateway.wait_replaced(index, before.pid)
    assert (after.restarts, after.last_exit) == (before.restarts + 1, "signal SIGKILL")
    assert after.cpus == before.cpus
    gateway.cancel(on_other)
    gateway.last(on_other)
    speak(gateway, 8)


def test_a_workers_own_crash_is_told_from_a_kill(gateway: FakeGateway) -> None:
    lost = failure(gateway, gateway.submit("[[crash at=0.5]] and more text"))
    assert (lost.code, "SIGSEGV" in lost.message) == (Code.WORKER_DIED, True)
    broken = failure(gateway, gateway.submit("[[exit]] and more text"))
    assert (broken.code, "engine_broken" in broken.message) == (Code.WORKER_DIED, True)
    for index in (0, 1):
        gateway.wait_for_worker(index, lambda worker: worker.state == "ready", "both back")
    speak(gateway, 4)


def test_audio_sent_before_the_death_is_kept_and_the_next_attempt_continues_there(gateway: FakeGateway) -> None:
    whole = gateway.answer(gateway.submit(TEXT)).samples
    first = gateway.submit(TEXT + "[[hang at=0.5]]", request_id="again")
    gateway.wait_for_audio(first)
    (worker,) = (worker for worker in gateway.status().workers if worker.slots["active"])
    os.kill(worker.pid, signal.SIGKILL)
    failure(gateway, first)
    begun = gateway.answers[first].samples
    assert 0 < len(begun) < len(whole)
    rest = gateway.answer(gateway.submit(TEXT, request_id="again", attempt=2, from_sample=len(begun))).samples
    assert begun.tobytes() + rest.tobytes() == whole.tobytes()


def test_engines_that_hang_asleep_or_spinning_are_replaced(gateway: FakeGateway) -> None:
    pids = [worker.pid for worker in gateway.status().workers]
    hung = [gateway.submit(f"[[{kind}]] and some text") for kind in ("hang", "spin")]
    for key in hung:
        lost = failure(gateway, key)
        assert lost.code == Code.WORKER_DIED
        assert "hung in phase step" in lost.message
    for index, pid in enumerate(pids):
        assert gateway.wait_replaced(index, pid).exits.get("hung", 0) >= 1
    speak(gateway, 8)


def test_a_stopped_worker_and_a_hung_preparation_are_found_too(gateway: FakeGateway) -> None:
    stopped, other = gateway.status().workers
    os.kill(stopped.pid, signal.SIGSTOP)
    # Which of the two gets it is open: the stopped one looks as free as the other.
    keys = [gateway.submit("[[hang prepare=1]] and some text") for _ in range(2)]
    assert {failure(gateway, key).code for key in keys} == {Code.WORKER_DIED}
    assert gateway.wait_replaced(0, stopped.pid).last_exit.startswith("hung in phase idle")
    assert gateway.wait_replaced(1, other.pid).last_exit.startswith("hung in phase prepare")
    speak(gateway, 8)


def test_a_load_that_hangs_is_cut_off_and_tried_again_after_a_pause() -> None:
    limits = QUICK_LIMITS | {"TTS_SERVICE_WORKERS_LOAD_TIMEOUT_S": "1"}
    with (
        running_half("--engine", "tone", "--workers", "1", env=limits | engine_options(load_s=500)) as half,
        FakeGateway(half.runtime_dir) as gateway,
    ):
        gateway.hello()
        worker = gateway.wait_for_worker(0, lambda worker: worker.restarts >= 1, "the second attempt")
        assert worker.last_exit.startswith("hung in phase load")
        assert worker.phase in (Phase.START, Phase.LOAD)
        assert not gateway.catalogue().warm


def test_no_job_is_lost_or_answered_twice_while_workers_die(gateway: FakeGateway) -> None:
    texts = [f"{TEXT} [[crash at=0.25]]" if n % 4 == 0 else f"{TEXT} {n}" for n in range(24)]
    keys = [gateway.submit(text) for text in texts]
    codes = [getattr(gateway.last(key, 60.0), "code", "done") for key in keys]
    assert set(codes) == {"done", Code.WORKER_DIED}
    assert all(codes[n] == Code.WORKER_DIED for n in range(0, 24, 4))
    assert [len(gateway.answers[key].lasts) for key in keys] == [1] * 24
    gateway.wait(lambda: all(worker.state == "ready" for worker in gateway.status().workers), "both workers back")
    speak(gateway, 8)


def test_the_half_has_said_in_its_log_what_happened(half: Half, gateway: FakeGateway) -> None:
    failure(gateway, gateway.submit("Secret words. [[crash]]"))
    log = half.text_of_log()
    assert "ended: signal SIGSEGV" in log
    assert "Secret words" not in log
    assert "Traceback" not in log
