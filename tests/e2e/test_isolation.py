"""Every answer is its own request's and nobody else's, whatever is in progress beside it."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from support.load import at_once
from support.raw_http import RawClient
from support.samples import block_peaks_hz, from_pcm, tone_samples
from support.service import Service, engine_options, running

pytestmark = pytest.mark.system

WORDS = ("apple", "bread", "cloud", "dream", "eagle")


@pytest.fixture(scope="module")
def batched() -> Iterator[Service]:
    """One worker whose engine advances four segments at a time."""
    options = engine_options(stepping="batched", step_cost_s=0.01, faults=True)
    with running("--engine", "tone", "--workers", "1", "--slots", "4", env=options) as service:
        yield service


class Order(NamedTuple):
    """A request whose answer is known in advance."""

    voice_hz: int
    sentences: tuple[str, ...]
    stream: bool
    seed: int


def orders(n: int, seed: int) -> list[Order]:
    """Return `n` random requests of one to six sentences."""
    draw = random.Random(seed)
    return [
        Order(
            draw.randrange(300, 1900, 100),
            tuple(
                " ".join(draw.choices(WORDS, k=draw.randint(1, 5))).capitalize() + "."
                for _ in range(draw.randint(1, 6))
            ),
            draw.random() < 0.5,
            draw.randrange(1000),
        )
        for _ in range(n)
    ]


def check_own(service: Service, order: Order) -> None:
    """Every 20 ms of the answer have the voice's pitch, and there are as many as the text has."""
    fields: dict[str, Any] = {"voice": f"hz{order.voice_hz}", "stream": order.stream, "seed": order.seed}
    samples = from_pcm(service.pcm(" ".join(order.sentences), **fields))
    assert len(samples) == tone_samples(*order.sentences)
    assert set(block_peaks_hz(samples, 24000)) == {order.voice_hz}


def test_iso_01_every_block_of_an_answer_is_of_the_voice_that_was_asked_for(tone: Service, batched: Service) -> None:
    at_once(lambda order: check_own(tone, order), orders(120, seed=1), n_threads=24)
    at_once(lambda order: check_own(batched, order), orders(40, seed=2), n_threads=12)


@pytest.mark.drill
@pytest.mark.timeout(400)
@pytest.mark.parametrize("stepping", ["turns", "batched"])
def test_iso_01_sixty_four_clients_get_what_is_theirs(stepping: str) -> None:
    room = {"TTS_SERVICE_GATEWAY_THREADS": "96", "TTS_SERVICE_GATEWAY_MAX_REQUESTS": "64"}
    with running("--engine", "tone", "--slots", "4", env=engine_options(stepping=stepping) | room) as service:
        at_once(lambda order: check_own(service, order), orders(1280, seed=3), n_threads=64)


def test_iso_03_rows_of_a_batch_are_what_they_are_alone(batched: Service) -> None:
    requests = [(f"hz{300 + 400 * n}", " ".join(["A sentence of this length."] * (n + 1))) for n in range(4)]
    alone = [batched.pcm(text, voice=voice, seed=9) for voice, text in requests]
    for stream in (False, True):
        # Twice over, so that rows leave while others stay and new ones take their place.
        mode = {"seed": 9, "stream": stream}
        together = at_once(lambda item, mode=mode: batched.pcm(item[1], voice=item[0], **mode), requests * 3)
        assert together == alone * 3


def test_aud_05_a_short_row_beside_long_ones_ends_where_its_text_ends(batched: Service) -> None:
    alone = batched.pcm("Hi.", seed=1)
    answers = at_once(lambda text: batched.pcm(text, seed=1), ["Hi.", "and then it goes on " * 12] * 6)
    assert answers[0::2] == [alone] * 6
    assert len(alone) // 2 == tone_samples("Hi.")


@pytest.mark.parametrize("stream", [False, True])
def test_iso_06_an_answer_follows_every_field_of_its_request(hibari: Service, tone: Service, stream: bool) -> None:
    text = "Which one is it?"
    variants: list[dict[str, Any]] = [
        {},
        {"seed": 1},
        {"seed": 2},
        {"speed": 1.3},
        {"sample_rate": 16000},
        {"sample_rate": 48000},
    ]
    bodies = [hibari.pcm(text, stream=stream, **fields) for fields in variants]
    assert len(set(bodies)) == len(bodies)
    assert bodies == [hibari.pcm(text, stream=stream, **fields) for fields in variants]
    voices = [tone.pcm(text, stream=stream, voice=f"hz{hz}") for hz in (300, 400, 500)]
    assert len(set(voices)) == 3


def one_round(service: Service, number: int) -> None:
    """Three times as many requests as slots, two of which leave and one of which fails; all of them end."""
    n_ended: list[int] = []
    lock = threading.Lock()

    def one(n: int) -> None:
        text = "A sentence to speak. " * (n % 3 + 1)
        if n % 6 == 1:
            with RawClient(service) as client:
                client.speech(text * 10, response_format="pcm", stream=bool(n % 2))
                client.answer().read(1 + number)
        elif n == 4:
            assert service.speak("[[fail]] x")[0].status == 500
        else:
            assert len(service.pcm(text)) // 2 == tone_samples("A sentence to speak.") * (n % 3 + 1)
        with lock:
            n_ended.append(n)

    at_once(one, range(12))
    assert sorted(n_ended) == list(range(12))
    service.wait_idle()
    assert service.workers()[0]["slots"] == {"total": 4, "active": 0}


def test_iso_08_slots_are_free_again_after_every_round(batched: Service) -> None:
    for number in range(4):
        one_round(batched, number)
    check_own(batched, orders(1, seed=4)[0])


@pytest.mark.drill
def test_iso_08_slots_are_free_again_after_fifty_rounds(batched: Service) -> None:
    for number in range(50):
        one_round(batched, number)
