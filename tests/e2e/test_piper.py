"""A service with a real Piper voice: it is understood, repeats itself to the bit, and shares its weights."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from support.asr import Recognizer, word_error_rate
from support.piper_voices import JOE, cache_directory, joe_directory
from support.samples import from_pcm
from support.sentences import PLAIN
from support.service import Service, engine_options, running, wait_until
from support.synthetic_vits import Build, write_voice

pytestmark = pytest.mark.system

RATE_HZ = 22050
ZEROMQ_THREADS = 2
LONG = (
    "Could you please open the window and let in some fresh air, because it is very warm in here, and nobody wants to "
    "sleep in a room as hot as this one, however tired they may be."
)


@pytest.fixture(scope="module")
def piper() -> Iterator[Service]:
    """Two workers with one thread each."""
    options = engine_options(cache=str(cache_directory()))
    flags = ("--engine", "piper", "--models", str(joe_directory()), "--workers", "2", "--threads", "1")
    with running(*flags, env=options) as service:
        yield service


def native(service: Service, text: str, *, stream: bool = True, seed: int = 0) -> bytes:
    return service.pcm(text, sample_rate="native", stream=stream, seed=seed)


def test_the_voice_is_offered_without_a_note(piper: Service) -> None:
    _, models = piper.get("/v1/models")
    assert [(model["engine"], model["default_voice"], model["notes"]) for model in models["data"]] == [
        ("piper", JOE, {})
    ]
    _, voices = piper.get("/v1/audio/voices")
    assert [(voice["id"], voice["language"], voice["note"]) for voice in voices["voices"]] == [(JOE, "en-US", "")]


def test_what_it_says_is_understood(piper: Service) -> None:
    recognizer = Recognizer()
    heard = [recognizer.transcribe(from_pcm(native(piper, text)), RATE_HZ) for text in PLAIN]
    assert word_error_rate(" ".join(PLAIN), " ".join(heard)) <= 0.1


def test_streamed_and_buffered_answers_differ_by_one_step_at_most(piper: Service) -> None:
    one, other = (np.frombuffer(native(piper, LONG, stream=stream), "<i2").astype(int) for stream in (True, False))
    assert len(one) == len(other) > 8 * RATE_HZ
    assert np.abs(one - other).max() <= 1


def test_the_same_request_has_the_same_bytes_on_either_worker(piper: Service) -> None:
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda _: native(piper, LONG, seed=3), range(4)))
    assert len(set(answers)) == 1
    assert all(worker["segments_done"] for worker in piper.workers() if not worker["wide"])
    assert native(piper, LONG, seed=4) != answers[0]


def test_phonemes_can_be_written_and_unknown_ones_are_refused(piper: Service) -> None:
    assert len(native(piper, "This is [[ ˈɹɔː ]] text.")) > RATE_HZ
    answer, body = piper.speak("[[ ☃ ]] a")
    assert answer.status == 400
    assert b"unsupported_text" in body


def test_a_rare_character_does_not_change_what_is_said_after_it(piper: Service) -> None:
    before = native(piper, "A, B, C, D, E.", seed=1)
    for char in ("\uaa81", "\U0010ffff", "\ufdd0", "日本"):
        piper.speak(char)
    assert all(native(piper, "A, B, C, D, E.", seed=1) == before for _ in range(2))


def test_threads_are_the_one_that_computes_and_zeromqs(piper: Service) -> None:
    for text in ("One.", LONG, "Two."):
        native(piper, text)
    piper.speak("x", voice="nobody")
    for worker in piper.workers():
        assert worker["live_threads"] == worker["threads"] + ZEROMQ_THREADS
        assert worker["faults"] == []


def test_speakers_and_what_is_unusual_about_a_voice_are_told(tmp_path: Path) -> None:
    write_voice(tmp_path, "many", Build(n_speakers=2))
    write_voice(tmp_path, "odd", Build(fault="softplus"))
    flags = ("--engine", "piper", "--models", str(tmp_path), "--workers", "1")
    with running(*flags, env=engine_options(cache=str(cache_directory()))) as service:
        _, models = service.get("/v1/models")
        (notes,) = (model["notes"] for model in models["data"])
        assert notes.keys() == {"odd"}
        assert notes["odd"].startswith("runs whole, without windows: its deviation")
        bodies = {voice: service.pcm("hello there", voice=voice) for voice in ("many#ann", "many#0", "many#bob", "odd")}
        assert bodies["many#ann"] == bodies["many#0"] != bodies["many#bob"]
        assert service.speak("hello there", voice="many#ann", response_format="json")[0].status == 200
        answer, body = service.speak("hello there", voice="odd", response_format="json")
        assert (answer.status, b"voice 'odd' of model 'default' (engine piper) does not say" in body) == (400, True)
        answer, body = service.speak("hello there", voice="many#nobody")
        assert (answer.status, b"voice_not_found" in body) == (400, True)


def mapped(pid: int, name: str) -> tuple[int, int]:
    """Return the resident and the proportional size of a process's maps of a file, in KiB."""
    rss = pss = 0
    inside = False
    for line in Path(f"/proc/{pid}/smaps").read_text(encoding="utf-8").splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            inside = line.endswith(f"/{name}")
        elif inside and line.startswith("Rss:"):
            rss += int(line.split()[1])
        elif inside and line.startswith("Pss:"):
            pss += int(line.split()[1])
    return rss, pss


def test_workers_share_the_memory_of_the_weights(piper: Service) -> None:
    wait_until(lambda: all(worker["state"] == "ready" for worker in piper.workers()), 60.0, "warm workers")
    for worker in piper.workers():
        rss, pss = mapped(worker["pid"], "weights.bin")
        assert rss > 40_000
        assert pss <= 0.55 * rss
