"""Promise 2: the same request has the same bytes, in any slot of any worker, before and after any restart."""

from __future__ import annotations

import os
import re
import signal
from itertools import pairwise

import pytest

from support.load import at_once
from support.samples import pcm_of_wav
from support.sentences import PLAIN
from support.service import Service, engine_options, running, wait_until

pytestmark = pytest.mark.system

TEXTS = (
    "Hello.",
    "The weather is lovely today, so we should go for a walk.",
    "Is it late? It is. Is it late? Then let us go; the others, I think, have long gone!",
    "Thank you very much for your help with this project. They watched an old movie together and went to bed late.",
)
MODES = ({"stream": True}, {"stream": False})


def all_bytes(service: Service, n_threads: int) -> list[bytes]:
    """Return the PCM of all texts in both modes, with `n_threads` requests in progress at a time."""
    requests = [(text, mode) for text in TEXTS for mode in MODES]
    return at_once(lambda item: service.pcm(item[0], seed=11, **item[1]), requests, n_threads)


def test_same_request_same_bytes_in_any_slot_of_any_worker(either: Service) -> None:
    alone = all_bytes(either, n_threads=1)
    for streamed, buffered in zip(alone[0::2], alone[1::2], strict=True):
        assert streamed == buffered
    busy = [worker["segments_done"] for worker in either.workers()]
    for _ in range(3):
        assert all_bytes(either, n_threads=8) == alone
    # All workers had a part in it.
    assert all(now["segments_done"] > before for now, before in zip(either.workers(), busy, strict=True))


@pytest.mark.parametrize("engine", ["tone", "hibari"])
def test_same_request_same_bytes_after_every_kind_of_restart(engine: str, request: pytest.FixtureRequest) -> None:
    before = all_bytes(request.getfixturevalue(engine), n_threads=1)
    options = engine_options(faults=True) if engine == "tone" else {}
    # Another service altogether, with one slot to a worker where the first has two.
    with running("--engine", engine, "--slots", "1", env=options) as service:
        assert all_bytes(service, n_threads=4) == before
        for worker in service.workers():
            os.kill(worker["pid"], signal.SIGKILL)
            assert all_bytes(service, n_threads=4) == before
        wait_until(lambda: all(worker["state"] == "ready" for worker in service.workers()), 20.0, "all workers warm")
        assert all_bytes(service, n_threads=4) == before


def test_a_stream_of_the_embedded_voice_goes_on_byte_for_byte_when_its_workers_are_killed(hibari: Service) -> None:
    fields = {"input": " ".join(PLAIN) * 2, "response_format": "pcm", "stream": True, "seed": 7}
    undisturbed = hibari.pcm(fields["input"], seed=7)
    with running("--engine", "hibari") as service, service.connect() as connection:
        pids = [worker["pid"] for worker in service.workers()]
        chunks = connection.post("/v1/audio/speech", fields).chunks()
        heard = next(chunks)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        assert heard + b"".join(chunks) == undisturbed
        assert re.search(r"segment \d+ again from sample \d+", service.text_of_log())


def test_a_repeated_sentence_sounds_alike_and_not_identical(hibari: Service) -> None:
    once = hibari.pcm("Counting again.", sample_rate="native", seed=5)
    thrice = hibari.pcm("Counting again. Counting again. Counting again.", sample_rate="native", seed=5)
    parts = [thrice[at : at + len(once)] for at in range(0, len(thrice), len(once))]
    assert parts[0] == once
    assert [len(part) for part in parts] == [len(once)] * 3
    assert len(set(parts)) == 3


def test_a_sentence_sounds_the_same_wherever_it_stands(hibari: Service) -> None:
    first, second = "The library is closed on Sunday.", "He reads the newspaper every morning."
    alone = {text: hibari.pcm(text, sample_rate="native", seed=6) for text in (first, second)}
    for pair in ((first, second), (second, first)):
        assert hibari.pcm(" ".join(pair), sample_rate="native", seed=6) == alone[pair[0]] + alone[pair[1]]


def test_every_format_has_the_same_bytes_again(either: Service) -> None:
    for response_format in ("mp3", "wav", "pcm"):
        bodies = at_once(lambda _, f=response_format: either.speak(TEXTS[2], response_format=f, seed=4)[1], range(4))
        assert all(body == other for body, other in pairwise(bodies))
    assert pcm_of_wav(either.speak(TEXTS[2], response_format="wav", seed=4)[1]) == bodies[0]
