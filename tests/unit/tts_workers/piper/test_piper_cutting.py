"""Graphs of many kinds are cut by what is in them; the parts sound like the whole; what cannot be cut runs whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

from support.piper_voices import JOE, joe_directory
from support.synthetic_vits import Build, write_voice
from tts_service.errors import EngineBroken
from tts_workers.engines.ort import cpu_session
from tts_workers.engines.piper.cutting import Cut, cut
from tts_workers.engines.piper.ids import Alphabet
from tts_workers.engines.piper.phonemes import Reader
from tts_workers.engines.piper.synthesis import (
    Floats,
    Run,
    Scales,
    decode,
    draws,
    encode,
    latents,
    speak_whole,
    text_inputs,
    upsample,
)
from tts_workers.engines.piper.voice import VoiceFile, read_voice
from tts_workers.engines.piper.windows import blocks, tiles

BUILDS = {
    "one speaker": Build(),
    "three speakers": Build(n_speakers=3),
    "no noise in durations": Build(duration_noise=False),
    "other names": Build(names="onnx::Anything_", seed=3),
    "names like ours": Build(names="@", constants_are_nodes=True),
    "a branch in the encoder": Build(with_branch=True, n_speakers=2),
    "other rates": Build(strides=(4, 2), seed=5),
    "another operator set": Build(opset=17),
}
TEXT = list(range(4, 40)) * 6


def runner(parts: dict[str, ModelProto]) -> Run:
    """Run each part in a session of its own."""
    sessions = {name: cpu_session(part.SerializeToString(), 1) for name, part in parts.items()}

    def run(name: str, feeds: Any) -> list[Any]:
        wanted = [value.name for value in sessions[name].get_inputs()]
        outputs: list[Any] = sessions[name].run(None, {key: feeds[key] for key in wanted})
        return outputs

    return run


def with_noise_inputs(model: Path) -> tuple[Any, list[str]]:
    """Return a session of an untouched graph whose noise nodes are gone, and the inputs that take their places."""
    graph = onnx.load(model)
    noises = [node for node in graph.graph.node if node.op_type == "RandomNormalLike"]
    for node in noises:
        graph.graph.node.remove(node)
        graph.graph.input.append(helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, None))
    return cpu_session(graph.SerializeToString(), 1), [node.output[0] for node in noises]


def both_ways(voice: VoiceFile, found: Cut, ids: list[int], longest: int) -> tuple[Floats, Floats]:
    """Return the samples of the untouched graph and of the parts, run in blocks, with the same noise."""
    speaker, scales, facts = voice.config.num_speakers - 1, Scales(0.6, 1.1, 0.7), found.facts
    run = runner(found.parts)
    noise = draws(7, 0, (1, facts.noise_channels, len(ids)))
    prior = encode(run, text_inputs(ids, scales, speaker), noise)
    frame_noise = draws(7, 1, (prior.n_channels, prior.n_frames))
    z = latents(prior, scales.noise, frame_noise)
    waves = []
    for block in blocks(prior.n_frames, longest, streamed=False):
        upsampled = upsample(run, facts, z, block, speaker)
        waves += [decode(run, facts, upsampled, tile, prior.n_frames, speaker) for tile in tiles(block)]
    session, names = with_noise_inputs(voice.model)
    feeds = {"input": np.asarray([ids]), "input_lengths": np.asarray([len(ids)]), "scales": scales.array()}
    feeds |= dict(zip(names, [noise, frame_noise[np.newaxis]][-len(names) :], strict=True))
    if voice.config.num_speakers > 1:
        feeds["sid"] = np.asarray([speaker])
    return session.run(None, feeds)[0].reshape(-1), np.concatenate(waves)


@pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS.keys())
@pytest.mark.parametrize("longest", [100_000, 100])
def test_the_parts_sound_like_the_untouched_graph(tmp_path: Path, build: Build, longest: int) -> None:
    voice = write_voice(tmp_path, build=build)
    found = cut(voice)
    assert set(found.parts) == {"encoder", "body", "tail"}
    untouched, ours = both_ways(voice, found, TEXT, longest)
    # Amplified by random weights, sums in another order differ more than in a real voice.
    assert np.abs(ours - untouched).max() < 1e-4
    assert len(untouched) > 20_000 / 512 * build.strides[0] * build.strides[1]
    assert np.abs(untouched).max() > 0.1


@pytest.fixture(scope="module")
def joe() -> VoiceFile:
    return read_voice(joe_directory() / f"{JOE}.onnx")


@pytest.fixture(scope="module")
def cut_joe(joe: VoiceFile) -> Cut:
    return cut(joe)


@pytest.mark.parametrize("longest", [100_000, 130])
def test_the_parts_of_the_real_voice_sound_like_it(joe: VoiceFile, cut_joe: Cut, longest: int) -> None:
    (sentence,) = Reader(joe).sentences("The quick brown fox, number 7, jumps over the lazy dog.")
    (ids,) = Alphabet(joe).parts(sentence)
    untouched, ours = both_ways(joe, cut_joe, ids, longest)
    assert len(untouched) > 2 * 22050
    assert np.abs(untouched).max() > 0.1
    # onnxruntime rearranges the whole graph and its parts differently; 4e-5 was seen.
    assert np.abs(ours - untouched).max() < 1e-4


def test_what_is_found_out_about_the_real_voice(cut_joe: Cut) -> None:
    facts = cut_joe.facts
    assert (facts.whole_because, facts.noise_channels, facts.hop, facts.rate) == ("", 2, 256, 8)
    # The flow reaches 32 frames (4 layers of 4 convolutions of 5), the decoder's first part less than 11.
    assert 32 < facts.body_margin <= 44
    assert facts.tail_margin <= 10
    assert 0 < facts.longest_step_s <= 0.5


def test_a_margin_one_smaller_than_what_was_found_would_be_too_small(tmp_path: Path) -> None:
    import msgspec

    voice = write_voice(tmp_path)
    found = cut(voice)
    # What was found has one frame to spare.
    less = msgspec.structs.replace(found.facts, body_margin=found.facts.body_margin - 2)
    untouched, ours = both_ways(voice, Cut(less, found.parts), TEXT, 100)
    assert np.abs(ours - untouched).max() > 1e-4


def test_the_larger_the_work_of_a_frame_the_shorter_the_steps(cut_joe: Cut) -> None:
    from tts_workers.engines.piper import cost

    body = cost.macs_per_frame(cut_joe.parts["body"], "@latents", 1)
    tail = cost.macs_per_frame(cut_joe.parts["tail"], "@upsampled", cut_joe.facts.rate)
    assert 11e6 < body < 13e6
    assert 16e6 < tail < 20e6
    heavy = cost.with_limits(cut_joe.facts, 4 * body, 10 * tail)
    assert heavy.longest_block < cut_joe.facts.longest_block
    assert heavy.step_frames < cut_joe.facts.step_frames


FAULTS = {
    "rounded": "roundings of durations",
    "softplus": "not the exponential",
    "noise twice": "noise for frames is read 2 times",
    "mean over time": "too far for windows",
    "no upsampling": "no upsampling convolution",
    "text in decoder": "cannot be had without input",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_graph_that_cannot_be_cut_runs_whole_and_says_why(tmp_path: Path, fault: Any) -> None:
    found = cut(write_voice(tmp_path, build=Build(fault=fault, n_speakers=2)))
    assert set(found.parts) == {"whole"}
    assert FAULTS[fault] in found.facts.whole_because


def test_a_whole_voice_sounds_like_the_untouched_graph_with_the_noise_of_its_bank(tmp_path: Path) -> None:
    voice = write_voice(tmp_path, build=Build(fault="softplus"))
    bank = draws(5, 0, (1 << 20,))
    ours = speak_whole(runner(cut(voice).parts), text_inputs(TEXT, Scales(0.6, 1.1, 0.7), 0), bank)
    session, names = with_noise_inputs(voice.model)
    half = len(bank) // 2
    n_frames = len(ours) // 64
    noise = [bank[: 2 * len(TEXT)].reshape(1, 2, -1), bank[half : half + 8 * n_frames].reshape(1, 8, -1)]
    feeds = {"input": np.asarray([TEXT]), "input_lengths": np.asarray([len(TEXT)])}
    feeds |= {"scales": Scales(0.6, 1.1, 0.7).array()} | dict(zip(names, noise, strict=True))
    untouched = session.run(None, feeds)[0].reshape(-1)
    np.testing.assert_allclose(ours, untouched, atol=1e-6)


def test_the_seed_reaches_the_noise_of_a_whole_voice(tmp_path: Path) -> None:
    run = runner(cut(write_voice(tmp_path, build=Build(fault="softplus"))).parts)
    inputs = text_inputs(TEXT, Scales(0.6, 1.0, 0.7), 0)
    waves = [speak_whole(run, inputs, draws(seed, 0, (1 << 20,))) for seed in (1, 2, 1)]
    assert np.array_equal(waves[0], waves[2])
    assert not np.array_equal(waves[0], waves[1])


@pytest.mark.parametrize(
    ("build", "config", "reason"),
    [
        (Build(fault="uniform"), {}, "draws random numbers by RandomUniformLike, which no seed reaches"),
        (Build(rows=20), {}, "gives 'i' the id 20, its graph knows ids below 20"),
        (Build(n_speakers=3, speaker_rows=2), {}, "names 3 speakers, its graph knows 2"),
        (Build(n_speakers=2), {"num_speakers": 1}, "its graph takes input, input_lengths, scales, sid; a voice of 1"),
        (Build(), {"num_speakers": 2}, "a voice of 2 speakers takes input, input_lengths, scales, sid"),
    ],
    ids=str,
)
def test_a_voice_that_cannot_be_served_is_refused_with_the_reason(
    tmp_path: Path, build: Build, config: dict[str, Any], reason: str
) -> None:
    voice = write_voice(tmp_path, build=build, **config)
    with pytest.raises(EngineBroken) as caught:
        cut(voice)
    assert str(caught.value).startswith("voice made-up: ")
    assert reason in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"no model", b"\x08\x08"])
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, content: bytes) -> None:
    voice = write_voice(tmp_path)
    voice.model.write_bytes(content)
    with pytest.raises(EngineBroken, match="voice made-up"):
        cut(voice)
