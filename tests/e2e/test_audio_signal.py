"""What is in the samples: nothing lost, added, rushed, or changed by what stands beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest

from support.load import at_once
from support.samples import decode, from_pcm, level_db, pauses_s, tone_samples
from support.service import Service, engine_options, running

pytestmark = pytest.mark.system

PAUSES_S = (0.15, 0.25, 0.35, 0.45, 0.75)


@pytest.fixture(scope="module")
def odd_pause() -> Iterator[Service]:
    """22050 Hz and 0.25 s between segments: an odd number of bytes where samples are not counted whole."""
    with pausing(0.25) as service:
        yield service


def pausing(pause_s: float) -> AbstractContextManager[Service]:
    env = engine_options(sample_rate_hz=22050) | {"TTS_SERVICE_GATEWAY_SENTENCE_PAUSE_S": str(pause_s)}
    return running("--engine", "tone", "--workers", "1", env=env)


def check_pause(service: Service, pause_s: float) -> None:
    """Two sentences are the bytes of each alone, with whole samples of silence between."""
    first, second = "The kettle is on.", "Tea will follow soon."
    pause = b"\0\0" * round(pause_s * 22050)
    alone = [service.pcm(text, sample_rate=22050, seed=4) for text in (first, second)]
    for stream in (False, True):
        both = service.pcm(f"{first} {second}", sample_rate=22050, seed=4, stream=stream)
        assert both == alone[0] + pause + alone[1]
    resampled = service.pcm(f"{first} {second}", sample_rate=24000, seed=4)
    assert abs(len(resampled) // 2 - len(both) // 2 * 24000 / 22050) <= 1


def test_aud_01_a_pause_between_sentences_is_a_whole_number_of_samples(odd_pause: Service) -> None:
    check_pause(odd_pause, 0.25)


@pytest.mark.drill
def test_aud_01_every_pause_is_a_whole_number_of_samples() -> None:
    for pause_s in PAUSES_S:
        with pausing(pause_s) as service:
            check_pause(service, pause_s)


@pytest.mark.parametrize(
    ("text", "n_sentences"),
    [
        ("Dr. Lee paid 3.14 dollars to the U.S. office at example.com. It was 98.6 degrees at 5 p.m. today.", 2),
        ("Mrs. Jones, of No. 7, agreed. Mr. Smith, e.g. on Mondays, did not.", 2),
        ("It costs 1,234.50 in all, i.e. too much.", 1),
    ],
)
def test_txt_13_dots_within_a_sentence_do_not_split_it(odd_pause: Service, text: str, n_sentences: int) -> None:
    samples = from_pcm(odd_pause.pcm(text, sample_rate=22050))
    assert len(pauses_s(samples, 22050)) == n_sentences - 1


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r", "\u2028"])
def test_txt_11_a_new_line_is_a_pause_however_it_is_written(odd_pause: Service, line_end: str) -> None:
    lines = ["Bring:", "Bread", "Butter", "Jam"]
    pcm = odd_pause.pcm(line_end.join(lines), sample_rate=22050)
    assert pcm == odd_pause.pcm("\n".join(lines) + line_end, sample_rate=22050)
    assert len(pauses_s(from_pcm(pcm), 22050)) == 3
    n_pause = round(0.25 * 22050)
    assert len(pcm) // 2 == tone_samples(*lines, rate_hz=22050) + 3 * n_pause


@pytest.mark.parametrize(
    "pieces",
    [
        ("HELLO THERE, everyone!", "a quiet remark follows now.", "And this is an ordinary statement."),
        ("Shout it out!", "Whisper it.", "Is it 7 o'clock?"),
    ],
)
def test_aud_03_a_sentence_sounds_the_same_alone_and_inside_a_text(either: Service, pieces: tuple[str, ...]) -> None:
    alone = [either.pcm(piece, sample_rate="native", seed=2) for piece in pieces]
    assert either.pcm(" ".join(pieces), sample_rate="native", seed=2) == b"".join(alone)


def test_aud_05_a_short_text_beside_a_long_one_is_what_it_is_alone(hibari: Service) -> None:
    alone = hibari.pcm("Hi.", seed=1, sample_rate="native")
    long_text = "and then it goes on " * 12
    answers = at_once(lambda text: hibari.pcm(text, seed=1, sample_rate="native"), [long_text, "Hi."] * 6)
    assert answers[1::2] == [alone] * 6
    assert len(set(answers[0::2])) == 1
    assert level_db(from_pcm(alone)[-2400:]) < -50


def test_aud_07_the_speaking_rate_does_not_depend_on_the_length_of_the_text(hibari: Service) -> None:
    sentence = "The river bends twice before it reaches the old mill, and then it slows down. "
    lengths = {n: len(hibari.pcm(sentence * n)) for n in (1, 4, 16, 64)}
    for n, length in lengths.items():
        assert 0.85 < length / (n * lengths[1]) < 1.2, f"{n} sentences"


@pytest.mark.parametrize("n_sentences", [1, 2, 10])
def test_aud_09_streamed_and_buffered_audio_are_the_same_samples(either: Service, n_sentences: int) -> None:
    text = "Counting again. " * n_sentences
    for response_format in ("pcm", "mp3"):
        streamed, buffered = (
            either.speak(text, seed=5, response_format=response_format, stream=stream)[1] for stream in (True, False)
        )
        assert streamed == buffered
        assert len(streamed) > 1000


def test_aud_09_an_mp3_holds_all_of_the_audio(either: Service) -> None:
    text = "Counting again. " * 10
    samples, rate_hz = decode(either.speak(text, seed=5)[1])
    expected = from_pcm(either.pcm(text, seed=5))
    # An encoder adds its delay in front and fills its last frame: fewer than four frames of 576 samples.
    assert rate_hz == 24000
    assert 0 <= len(samples) - len(expected) < 4 * 576
    end = expected[-12000:]
    starts = range(len(expected) - len(end), len(samples) - len(end) + 1)
    error_db = min(level_db(samples[start : start + len(end)] - end) for start in starts)
    assert error_db < level_db(end) - 15
