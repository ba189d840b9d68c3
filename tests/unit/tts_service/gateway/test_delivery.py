"""From samples to the bytes of an answer: in one piece, or as a stream that shows when it breaks off."""

from __future__ import annotations

import errno
import logging
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.properties import property_settings
from support.spoken import TEXTS, SpokenRequest, expected
from tts_service.errors import ClientGone, Code, RequestFailed
from tts_service.gateway.budget import AudioBudget
from tts_service.gateway.delivery import StreamedBody, WholeAnswer, pcm_of, pieces
from tts_service.gateway.encoders import make_encoder
from tts_service.gateway.pcm import Int16, PcmStream, to_int16

RATE_HZ = 8000


def ramp(start: int, stop: int) -> Int16:
    return np.arange(start, stop).astype(np.int16)


def parts(*lengths: int, error: Exception | None = None) -> Iterator[Int16]:
    """Yield a ramp in parts of these lengths, then raise."""
    start = 0
    for length in lengths:
        yield ramp(start, start + length)
        start += length
    if error is not None:
        raise error


class Streamed:
    """A streamed body and what it reported."""

    def __init__(self, pcm: Iterator[Int16], response_format: str = "pcm") -> None:
        self.outcomes: list[str] = []
        encoder = make_encoder(response_format, RATE_HZ, 32)
        # The first piece is 100 samples, the others are 200.
        self.body = StreamedBody(pcm, encoder, self.outcomes.append, 100 / RATE_HZ, 200 / RATE_HZ)


# pieces


@property_settings(200)
@given(st.lists(st.integers(0, 50), max_size=12), st.integers(1, 30), st.integers(1, 30))
def test_pieces_are_all_of_the_audio_in_the_sizes_asked_for(lengths: list[int], first: int, others: int) -> None:
    cut = list(pieces(parts(*lengths), first, others))
    assert np.array_equal(np.concatenate([*cut, ramp(0, 0)]), ramp(0, sum(lengths)))
    sizes = [len(piece) for piece in cut]
    assert sizes[:1] in ([], [first]) or (len(sizes) == 1 and 0 < sizes[0] < first)
    assert all(size == others for size in sizes[1:-1])
    assert all(0 < size <= others for size in sizes[1:])


def test_a_piece_is_handed_out_as_soon_as_it_is_full() -> None:
    def pcm() -> Iterator[Int16]:
        yield ramp(0, 25)
        raise AssertionError("asked for more than the first piece needs")

    assert len(next(pieces(pcm(), 20, 50))) == 20


# In one piece


def test_an_answer_in_one_piece_has_exact_sizes() -> None:
    body = WholeAnswer(AudioBudget(1 << 20)).collect(parts(3, 0, 4), make_encoder("wav", RATE_HZ, 64), max_audio_s=1.0)
    assert body[4:8] == (36 + 14).to_bytes(4, "little")
    assert body[40:44] == (14).to_bytes(4, "little")
    assert body[44:] == ramp(0, 7).tobytes()


def test_an_answer_in_one_piece_may_be_just_as_long_as_its_limit() -> None:
    assert (
        len(
            WholeAnswer(AudioBudget(1 << 20)).collect(
                parts(8000, 8000), make_encoder("pcm", RATE_HZ, 64), max_audio_s=2.0
            )
        )
        == 32000
    )


def test_an_answer_in_one_piece_that_gets_too_long_fails_before_the_rest_is_made() -> None:
    with pytest.raises(RequestFailed, match="longer than 2 s") as caught:
        WholeAnswer(AudioBudget(1 << 20)).collect(
            parts(8000, 8001, error=AssertionError("made more")), make_encoder("pcm", RATE_HZ, 64), max_audio_s=2.0
        )
    assert (caught.value.code, caught.value.param) == (Code.AUDIO_TOO_LONG, "input")


def test_a_failure_of_the_audio_is_the_answers() -> None:
    with pytest.raises(RequestFailed) as caught:
        WholeAnswer(AudioBudget(1 << 20)).collect(
            parts(5, error=RequestFailed(Code.ENGINE_FAILED, "x")), make_encoder("wav", RATE_HZ, 64), 1.0
        )
    assert caught.value.code is Code.ENGINE_FAILED


def test_pcm_is_the_speech_resampled_to_its_last_sample() -> None:
    request = SpokenRequest(TEXTS)
    pcm = np.concatenate(list(pcm_of(request.speech, PcmStream(24000, 24000))))
    assert np.array_equal(pcm, to_int16(expected(TEXTS)))
    resampled = np.concatenate(list(pcm_of(SpokenRequest(TEXTS).speech, PcmStream(24000, 8000))))
    assert len(resampled) == round(len(pcm) / 3)


# As a stream


@pytest.mark.parametrize("response_format", ["pcm", "wav", "mp3"])
def test_a_stream_is_its_audio_and_complete_once(response_format: str) -> None:
    streamed = Streamed(parts(77, 1000, 3), response_format)
    streamed.body.begin()
    assert streamed.outcomes == []
    data = list(streamed.body)
    assert all(data)
    assert streamed.outcomes == ["complete"]
    encoder = make_encoder(response_format, RATE_HZ, 32)
    assert b"".join(data) == encoder.begin(None) + encoder.encode(ramp(0, 1080)) + encoder.end()
    streamed.body.close()
    assert streamed.outcomes == ["complete"]
    with pytest.raises(StopIteration):
        next(streamed.body)
    assert streamed.outcomes == ["complete"]


def test_a_stream_comes_in_chunks_of_the_lengths_that_are_set() -> None:
    streamed = Streamed(parts(1000))
    streamed.body.begin()
    assert [len(data) // 2 for data in streamed.body] == [100, 200, 200, 200, 200, 100]


def test_the_header_comes_with_the_first_audio_and_never_before() -> None:
    def pcm() -> Iterator[Int16]:
        begun.append("audio")
        yield ramp(0, 100)
        raise AssertionError("asked for more than the first chunk")

    begun: list[str] = []
    streamed = Streamed(pcm(), "wav")
    assert begun == []
    streamed.body.begin()
    assert begun == ["audio"]
    assert len(next(streamed.body)) == 44 + 200


@pytest.mark.parametrize("error", [RequestFailed(Code.ENGINE_FAILED, "x"), ClientGone("left"), KeyError("bug")])
@pytest.mark.parametrize("n_before", [0, 99])
def test_a_failure_before_the_first_audio_is_raised_as_it_is(error: Exception, n_before: int) -> None:
    streamed = Streamed(parts(n_before, error=error), "wav")
    with pytest.raises(type(error)):
        streamed.body.begin()
    # The caller still has an answer to give, and reports its outcome.
    assert streamed.outcomes == []


@pytest.mark.parametrize(
    ("error", "outcome"), [(RequestFailed(Code.WORKER_DIED, "x"), "worker_died"), (ClientGone("left"), "client_gone")]
)
def test_a_failure_after_the_first_audio_breaks_the_connection_off(error: Exception, outcome: str) -> None:
    streamed = Streamed(parts(100, 250, error=error))
    streamed.body.begin()
    heard = [next(streamed.body), next(streamed.body)]
    assert b"".join(heard) == ramp(0, 300).tobytes()
    with pytest.raises(ConnectionResetError) as caught:
        next(streamed.body)
    assert caught.value.errno == errno.ECONNRESET
    assert streamed.outcomes == [outcome]
    streamed.body.close()
    assert streamed.outcomes == [outcome]


def test_a_stream_that_has_broken_off_never_looks_complete() -> None:
    # LAME gives its first frame out after about 1700 samples.
    streamed = Streamed(parts(3000, error=RequestFailed(Code.WORKER_DIED, "x")), "mp3")
    streamed.body.begin()
    heard: list[bytes] = []
    with pytest.raises(ConnectionResetError):
        heard.extend(streamed.body)
    assert heard[0]
    assert streamed.outcomes == ["worker_died"]


def test_an_accident_in_a_stream_is_raised_and_reported_as_internal() -> None:
    streamed = Streamed(parts(100, error=KeyError("bug")))
    streamed.body.begin()
    next(streamed.body)
    with pytest.raises(KeyError):
        next(streamed.body)
    assert streamed.outcomes == ["internal"]


def test_a_stream_that_is_closed_before_its_end_was_left_by_its_client() -> None:
    streamed = Streamed(parts(1000))
    streamed.body.begin()
    next(streamed.body)
    streamed.body.close()
    streamed.body.close()
    assert streamed.outcomes == ["client_gone"]


def test_why_a_stream_breaks_off_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    streamed = Streamed(parts(100, error=RequestFailed(Code.WORKER_DIED, "worker 3 ended")))
    streamed.body.begin()
    next(streamed.body)
    with caplog.at_level(logging.ERROR), pytest.raises(ConnectionResetError):
        next(streamed.body)
    assert "worker 3 ended" in caplog.text


def test_a_stream_without_audio_is_a_header_at_most() -> None:
    for response_format, length in (("wav", 44), ("pcm", 0), ("mp3", 0)):
        streamed = Streamed(parts(), response_format)
        streamed.body.begin()
        assert len(b"".join(streamed.body)) == length
        assert streamed.outcomes == ["complete"]


def test_an_answer_in_one_piece_counts_against_the_budget_until_it_is_over() -> None:
    budget = AudioBudget(20_000)
    answer = WholeAnswer(budget)
    answer.collect(parts(8000), make_encoder("pcm", RATE_HZ, 64), 9.0)
    assert budget.n_bytes == 16_000
    with pytest.raises(RequestFailed) as caught:
        WholeAnswer(budget).collect(parts(8000), make_encoder("pcm", RATE_HZ, 64), 9.0)
    assert caught.value.code is Code.TOO_MANY_REQUESTS
    assert "audio_budget_mib" in caught.value.message
    answer.release()
    answer.release()
    assert budget.n_bytes == 0
