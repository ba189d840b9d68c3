"""Many voices in one session: no thread of its own, and every voice's bytes as they are alone."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.synthetic_vits import Build, write_voice
from tts_service.errors import EngineBroken
from tts_workers.engines.piper.bundle import Bundle
from tts_workers.engines.piper.cache import Cache, Entry, digest_of
from tts_workers.engines.piper.cutting import cut
from tts_workers.engines.piper.synthesis import Scales, draws, encode, latents, speak_whole, text_inputs, upsample
from tts_workers.engines.piper.voice import VoiceFile

BUILDS = {
    "plain": Build(),
    "same names, other weights": Build(seed=1),
    "many speakers": Build(n_speakers=3, names="x"),
    "a branch": Build(with_branch=True),
    "whole": Build(fault="softplus", n_speakers=2),
}
TEXT = list(range(4, 40)) * 3


def entry_of(directory: Path, voice: VoiceFile) -> Entry:
    return Cache(directory / "cache").get(digest_of(voice.model), lambda: cut(voice))


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Entry]:
    directory = tmp_path_factory.mktemp("voices")
    return {name: entry_of(directory, write_voice(directory, name, build)) for name, build in BUILDS.items()}


def bundle_of(entries: dict[str, Entry]) -> Bundle:
    bundle = Bundle()
    bundle.load(entries)
    return bundle


def outputs(bundle: Bundle, name: str, entry: Entry) -> list[Any]:
    """Return what all parts of a voice make of one text."""
    run, facts = bundle.runner(name), entry.facts
    inputs = text_inputs(TEXT, Scales(0.6, 1.0, 0.7), BUILDS[name].n_speakers - 1)
    if facts.whole_because:
        return [speak_whole(run, inputs, draws(1, 0, (1 << 20,)))]
    prior = encode(run, inputs, draws(1, 0, (1, facts.noise_channels, len(TEXT))))
    z = latents(prior, 0.6, draws(1, 1, (prior.n_channels, prior.n_frames)))
    upsampled = upsample(run, facts, z, (0, prior.n_frames), BUILDS[name].n_speakers - 1)
    tail = run("tail", {"@upsampled": upsampled.values, "@speaker": np.asarray([BUILDS[name].n_speakers - 1])})
    return [prior.durations, prior.mean, prior.log_deviation, upsampled.values, *tail]


def test_every_voice_has_the_bytes_that_it_has_alone(entries: dict[str, Entry]) -> None:
    together = bundle_of(entries)
    for name, entry in [*entries.items(), *entries.items()]:
        alone = outputs(bundle_of({name: entry}), name, entry)
        for one, other in zip(outputs(together, name, entry), alone, strict=True):
            assert np.array_equal(one, other)


def test_voices_of_the_same_shape_are_not_mixed_up(entries: dict[str, Entry]) -> None:
    together = bundle_of(entries)
    first, second = (outputs(together, name, entries[name]) for name in list(BUILDS)[:2])
    assert not np.array_equal(first[1], second[1])


def test_any_number_of_voices_brings_no_thread(entries: dict[str, Entry]) -> None:
    before = len(os.listdir("/proc/self/task"))
    bundle = bundle_of(entries)
    for name, entry in entries.items():
        outputs(bundle, name, entry)
    assert len(os.listdir("/proc/self/task")) == before
    assert bundle.session.get_session_options().intra_op_num_threads == 1


def test_parts_can_run_on_several_threads_at_a_time(entries: dict[str, Entry]) -> None:
    bundle = bundle_of(entries)
    alone = {name: outputs(bundle, name, entry) for name, entry in entries.items()}
    with ThreadPoolExecutor(4) as threads:
        jobs = [(name, threads.submit(outputs, bundle, name, entry)) for name, entry in [*entries.items()] * 8]
    for name, job in jobs:
        assert all(np.array_equal(one, other) for one, other in zip(job.result(), alone[name], strict=True))


def test_voices_of_different_operator_sets_are_refused_together(tmp_path: Path) -> None:
    voices = [write_voice(tmp_path, f"v{opset}", Build(opset=opset)) for opset in (15, 17)]
    with pytest.raises(EngineBroken, match="different ONNX operator sets"):
        bundle_of({voice.id: entry_of(tmp_path, voice) for voice in voices})


def test_weights_that_are_gone_are_an_error_with_their_name(tmp_path: Path) -> None:
    voice = write_voice(tmp_path, "big", Build(rows=5000))
    entry = entry_of(tmp_path, voice)
    (entry.directory / "weights.bin").unlink()
    with pytest.raises(EngineBroken, match=r"weights\.bin"):
        bundle_of({voice.id: entry})
