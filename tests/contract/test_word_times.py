"""When words are spoken, of the engines that say so: in order, within the segment, and where there is sound."""

from __future__ import annotations

import numpy as np
import pytest

from support.engine_cases import TEXTS, EngineCase, job_for, speak, step_alone
from tts_service.protocol import Word
from tts_workers.engines import Engine
from tts_workers.engines.base import Samples

BLOCK_S = 0.01
EDGE_BLOCKS = 3
LOUD = 1e-3
"""Of the loudest block's energy."""


def spoken(engine: Engine, text: str, **changes: object) -> tuple[Samples, tuple[Word, ...]]:
    """Return samples and words."""
    sequence = engine.start(job_for(engine, text, **changes))
    parts = []
    finished = False
    while not finished:
        output = step_alone(engine, sequence)
        parts.append(output.samples)
        finished = output.finished
    engine.release(sequence)
    return np.concatenate(parts), sequence.words


def test_an_engine_says_whether_it_has_word_times(engine: Engine, case: EngineCase) -> None:
    assert engine.info.word_times is (case.engine in ("tone", "piper"))
    assert bool(spoken(engine, TEXTS[0])[1]) is engine.info.word_times


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("changes", [{}, {"streamed": True}, {"speed": 1.7}, {"seed": 12}])
def test_words_are_in_order_and_within_the_segment(engine: Engine, text: str, changes: dict[str, object]) -> None:
    samples, words = spoken(engine, text, **changes)
    place = at = 0
    for word in words:
        assert place <= word.text_start < word.text_end <= len(text)
        assert at <= word.start_sample < word.end_sample <= len(samples)
        place, at = word.text_end, word.end_sample
    if engine.info.word_times:
        said = "".join(text[word.text_start : word.text_end] for word in words)
        assert [char for char in said if char.isalnum()] == [char for char in text if char.isalnum()]


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_heard_is_heard_in_words(engine: Engine, text: str) -> None:
    samples, words = spoken(engine, text)
    if not engine.info.word_times:
        assert words == ()
        return
    in_words = np.zeros(len(samples), bool)
    for word in words:
        in_words[word.start_sample : word.end_sample] = True
    block = round(BLOCK_S * engine.info.sample_rate_hz)
    n_blocks = len(samples) // block
    energy = np.square(samples[: n_blocks * block], dtype=np.float64).reshape(n_blocks, block).mean(axis=1)
    inside = in_words[: n_blocks * block].reshape(n_blocks, block).mean(axis=1) > 0.5
    loud = energy > LOUD * energy.max()
    # A network's sounds begin a frame or two before their phonemes.
    near = np.convolve(inside, np.ones(2 * EDGE_BLOCKS + 1), "same") > 0
    assert energy[~near].sum() < 0.001 * energy.sum()
    assert (loud & ~near).sum() <= 0.01 * loud.sum()
    # Nor is it all one word: most of what is marked sounds.
    assert (loud & inside).sum() > 0.6 * inside.sum()


def test_words_do_not_depend_on_mode_or_what_ran_before(engine: Engine) -> None:
    first = spoken(engine, TEXTS[1])[1]
    speak(engine, job_for(engine, TEXTS[2], seed=5))
    assert spoken(engine, TEXTS[1], streamed=True)[1] == first == spoken(engine, TEXTS[1])[1]
