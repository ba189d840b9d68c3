"""The plan of windows: complete, in order, bounded, and a function of frames and mode alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tts_workers.engines.piper.synthesis import paced
from tts_workers.engines.piper.windows import FIRST_FRAMES, SHORTEST_IN_BLOCKS, TILE_FRAMES, blocks, tiles

LENGTHS = st.integers(1, 20_000)
LONGEST = st.integers(64, 1024)


@given(LENGTHS, LONGEST, st.booleans())
def test_blocks_cover_every_frame_once_and_are_bounded(n_frames: int, longest: int, streamed: bool) -> None:
    plan = blocks(n_frames, longest, streamed=streamed)
    assert [first for first, _ in plan] == [0, *(last for _, last in plan[:-1])]
    assert plan[-1][1] == n_frames
    assert all(0 < last - first <= longest for first, last in plan)
    assert plan == blocks(n_frames, longest, streamed=streamed)


@given(LENGTHS, LONGEST)
def test_buffered_blocks_are_as_few_as_possible_and_equal(n_frames: int, longest: int) -> None:
    plan = blocks(n_frames, longest, streamed=False)
    assert len(plan) == -(-n_frames // longest)
    sizes = {last - first for first, last in plan}
    assert max(sizes) - min(sizes) <= 1


@given(LENGTHS, LONGEST)
def test_a_stream_begins_with_a_small_block_unless_it_is_short(n_frames: int, longest: int) -> None:
    plan = blocks(n_frames, longest, streamed=True)
    if n_frames >= SHORTEST_IN_BLOCKS:
        assert plan[0] == (0, FIRST_FRAMES)
    else:
        assert plan == blocks(n_frames, longest, streamed=False)


@given(st.integers(0, 5000), st.integers(1, 2000))
def test_tiles_cover_a_block(first: int, length: int) -> None:
    found = tiles((first, first + length))
    assert [start for start, _ in found] == [first, *(last for _, last in found[:-1])]
    assert found[-1][1] == first + length
    assert all(0 < last - start <= TILE_FRAMES for start, last in found)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=300), st.floats(0.25, 2.0))
def test_paced_durations_have_the_length_that_the_speed_asks_for(durations: list[int], speed: float) -> None:
    before = np.asarray(durations, np.int64)
    after = paced(before, speed)
    assert after.shape == before.shape
    assert (after >= 0).all()
    assert after.sum() == np.rint(before.sum() / speed)
    # Every phoneme ends when it should, within half a frame.
    assert np.abs(np.cumsum(after) - np.cumsum(before) / speed).max() <= 0.5


@pytest.mark.parametrize("durations", [[1], [3, 0, 2]])
def test_at_its_own_speed_a_voice_has_its_own_durations(durations: list[int]) -> None:
    before = np.asarray(durations, np.int64)
    assert paced(before, 1.0) is before
