"""Cuts a voice's graph into parts whose noise is an input: encoder, body and tail, or the whole in one. Pure.

`encoder` makes durations and prior of the phonemes; `body` is the flow and the decoder up to its first upsampling;
`tail` is the rest of the decoder. The noise of a voice that runs whole is read from a bank: a long vector of draws,
of which each noise node takes as many as it needs, from the start again where the bank is too short.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from tts_workers.engines.piper.anatomy import (
    IDS,
    INPUT_TYPES,
    LENGTHS,
    SCALES,
    SPEAKER,
    Anatomy,
    noise_nodes,
)
from tts_workers.engines.piper.graph import GraphView, NotUnderstood, model_of, tensors_read

# Names of the parts' own inputs and outputs; no exporter begins a name so.
PART_INPUTS = {IDS: "@ids", LENGTHS: "@lengths", SCALES: "@scales", SPEAKER: "@speaker"}
NOISE, FRAME_NOISE, LATENTS, MASK, UPSAMPLED = "@noise", "@frame_noise", "@latents", "@mask", "@upsampled"
DURATIONS, MEAN, LOG_DEVIATION, AUDIO = "@durations", "@mean", "@log_deviation", "@audio"
# 4 MiB of draws: enough for a minute of frames of 192 channels before any of them comes again.
BANK_SIZE = 1 << 20


@dataclass(frozen=True)
class Split:
    """A voice in three parts, and what they are held against."""

    encoder: ModelProto
    body: ModelProto
    tail: ModelProto
    untouched: ModelProto
    """The whole graph with nothing changed but that its noise comes from outside."""
    noise_like: ModelProto | None
    """Makes a tensor of the shape that the encoder's noise has; None where it takes none."""


def split(view: GraphView, anatomy: Anatomy) -> Split:
    """Return the parts. NotUnderstood where one needs what it cannot have."""
    # Only real inputs: an export of the voice "joe" calls its table of phonemes "sid".
    text = {name: (PART_INPUTS[name], INPUT_TYPES[name]) for name in PART_INPUTS if name in view.inputs}
    speaker = {name: text[name] for name in (SPEAKER,) if name in text}
    floats = TensorProto.FLOAT
    noise = {anatomy.duration_noise: (NOISE, floats)} if anatomy.duration_noise else {}
    masks = dict.fromkeys(anatomy.masks, (MASK, floats))
    prior = {anatomy.durations: DURATIONS, anatomy.mean: MEAN, anatomy.log_deviation: LOG_DEVIATION}
    return Split(
        encoder=view.part(text | noise, prior),
        body=view.part({anatomy.latents: (LATENTS, floats)} | masks | speaker, {anatomy.upsampled: UPSAMPLED}),
        tail=view.part({anatomy.upsampled: (UPSAMPLED, floats)} | speaker, {anatomy.audio: AUDIO}),
        untouched=view.part(text | noise | {anatomy.frame_noise: (FRAME_NOISE, floats)}, {anatomy.audio: AUDIO}),
        noise_like=_noise_like(view, anatomy, text),
    )


def _noise_like(view: GraphView, anatomy: Anatomy, text: Mapping[str, tuple[str, int]]) -> ModelProto | None:
    if anatomy.duration_noise is None:
        return None
    return view.part(text, {view.nodes[view.maker[anatomy.duration_noise]].input[0]: NOISE})


def whole(view: GraphView) -> ModelProto:
    """Return the graph in one part, its noise nodes reading from a bank of BANK_SIZE draws.

    NotUnderstood where a node draws in another way.
    """
    noises = noise_nodes(view)
    nodes: list[NodeProto] = []
    for index, node in enumerate(view.nodes):
        nodes += _from_bank(node, noises.index(index), len(noises)) if index in noises else [node]
    constants = {"@bank_size": BANK_SIZE, "@zero": 0, "@one": 1}
    starts = {f"@start{n}": n * BANK_SIZE // len(noises) for n in range(len(noises))}
    scalars = [numpy_helper.from_array(np.array(value, np.int64), name) for name, value in (constants | starts).items()]
    made = [name for node in nodes for name in node.output]
    names = {name: PART_INPUTS[name] for name in view.inputs if name in PART_INPUTS} | {view.outputs[0]: AUDIO}
    graph = helper.make_graph(
        nodes,
        "whole",
        [helper.make_tensor_value_info(name, INPUT_TYPES[name], None) for name in view.inputs if name in PART_INPUTS]
        + [helper.make_tensor_value_info(NOISE, TensorProto.FLOAT, None)],
        [helper.make_tensor_value_info(view.outputs[0], TensorProto.FLOAT, None)],
        [*view.initializers.values(), *scalars],
    )
    if view.outputs[0] not in made:
        raise NotUnderstood("nothing makes its output")
    bare = GraphView(model_of(graph, view.model))
    return bare.part(
        {name: (new, INPUT_TYPES[name]) for name, new in names.items() if name in INPUT_TYPES}
        | {NOISE: (NOISE, TensorProto.FLOAT)},
        {view.outputs[0]: AUDIO},
    )


def _from_bank(node: NodeProto, n: int, n_noises: int) -> list[NodeProto]:
    """Return nodes that fill a tensor of the same shape from the bank, from its n-th share on."""
    like, out = tensors_read(node)[0], node.output[0]
    attributes = {attribute.name: attribute.f for attribute in node.attribute}
    if attributes.get("mean", 0.0) != 0.0 or attributes.get("scale", 1.0) != 1.0:
        raise NotUnderstood("its noise is not of mean 0 and deviation 1")

    def named(step: str) -> str:
        return f"@noise{n}.{step}"

    return [
        helper.make_node("Shape", [like], [named("shape")]),
        helper.make_node("ReduceProd", [named("shape")], [named("size")], keepdims=0),
        helper.make_node("Range", ["@zero", named("size"), "@one"], [named("index")]),
        helper.make_node("Add", [named("index"), f"@start{n}"], [named("shifted")]),
        helper.make_node("Mod", [named("shifted"), "@bank_size"], [named("place")]),
        helper.make_node("Gather", [NOISE, named("place")], [named("draws")]),
        helper.make_node("Reshape", [named("draws"), named("shape")], [out]),
    ]
