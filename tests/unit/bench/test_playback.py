"""When a player of a stream runs dry."""

from __future__ import annotations

import pytest

from tts_service.bench.playback import Playback


def played(*pieces: tuple[float, int]) -> Playback:
    """Return a player of 100 bytes a second that got these pieces, each with its time."""
    playback = Playback(100, unheard_s=0.05)
    for now, n_bytes in pieces:
        playback.heard(now, n_bytes)
    return playback


def test_a_stream_that_is_always_ahead_never_runs_dry() -> None:
    playback = played((5.0, 100), (5.5, 100), (6.9, 100))
    assert (playback.n_dry, playback.dry_s) == (0, 0.0)


def test_the_wait_for_the_first_audio_is_no_underrun() -> None:
    assert played((50.0, 10)).n_dry == 0


def test_each_gap_counts_once_and_the_player_goes_on_from_its_end() -> None:
    # 1 s of audio at 5.0; dry from 6.0 to 6.5; 1 s more, dry from 7.5 to 8.5.
    playback = played((5.0, 100), (6.5, 100), (8.5, 100))
    assert playback.n_dry == 2
    assert playback.dry_s == pytest.approx(1.5)


def test_a_gap_that_a_player_bridges_is_not_heard() -> None:
    assert played((5.0, 100), (6.04, 100)).n_dry == 0
    assert played((5.0, 100), (6.06, 100)).n_dry == 1
