"""Finds the organs of a VITS graph by what they do, since every export calls them otherwise. Pure.

What is looked for (Kim et al., "Conditional Variational Autoencoder with Adversarial Learning for End-to-End
Text-to-Speech", 2021, section 2): the text encoder gives a mean and a log deviation for each phoneme; the duration
predictor, fed with noise, gives frames for each phoneme (the graph's Ceil); mean and deviation are repeated by them
(MatMul with a path matrix); latents = mean + noise * exp(log deviation) * scale; a flow and a HiFi-GAN make audio of
the latents.
"""

from __future__ import annotations

from dataclasses import dataclass

from onnx import NodeProto, TensorProto

from tts_workers.engines.piper.graph import GraphView, NotUnderstood, subgraphs

# What every Piper voice's graph calls its inputs: runtimes feed them by these names.
IDS, LENGTHS, SCALES, SPEAKER = "input", "input_lengths", "scales", "sid"
INPUT_TYPES = {
    IDS: TensorProto.INT64,
    LENGTHS: TensorProto.INT64,
    SCALES: TensorProto.FLOAT,
    SPEAKER: TensorProto.INT64,
}
NOISE_OPERATOR = "RandomNormalLike"
OTHER_RANDOM_OPERATORS = frozenset({"RandomNormal", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial"})
_PASSING = frozenset({"Identity", "Cast"})
_RESHAPING = frozenset({"Transpose", "Identity"})


@dataclass(frozen=True)
class Anatomy:
    """The tensors at which a voice's graph is cut, by their names in it."""

    durations: str
    """Frames of each phoneme id, (1, 1, T)."""
    duration_noise: str | None
    """Noise of the duration predictor, (1, n, T); None where it takes none."""
    mean: str
    """(1, T, C)."""
    log_deviation: str
    """(1, T, C)."""
    frame_noise: str
    """(1, C, F)."""
    latents: str
    """What flow and decoder start from, (1, C, F)."""
    masks: tuple[str, ...]
    """Tensors that say which frames are there; for a single text all ones, (1, 1, F)."""
    upsampled: str
    """Between the decoder's first and second upsampling: (1, H, F * r). Every path to the audio leads through it."""
    audio: str
    """The graph's output."""


def check_inputs(view: GraphView, n_speakers: int) -> None:
    """Raise NotUnderstood where the graph does not take what a Piper voice takes."""
    expected = {IDS, LENGTHS, SCALES} | ({SPEAKER} if n_speakers > 1 else set())
    # Some exports of single-speaker voices leave an input for the speaker behind, unused.
    found = {name for name in view.inputs if name != SPEAKER or n_speakers > 1 or view.readers.get(name)}
    if found != expected:
        raise NotUnderstood(
            f"its graph takes {', '.join(sorted(found))}; a voice of {n_speakers} speakers takes "
            f"{', '.join(sorted(expected))}"
        )
    for name in expected:
        if view.inputs[name].type.tensor_type.elem_type != INPUT_TYPES[name]:
            raise NotUnderstood(f"its input {name} is not {TensorProto.DataType.Name(INPUT_TYPES[name])}")


def embedding_rows(view: GraphView, index_input: str) -> int:
    """Return the rows of the table that `index_input` looks up; NotUnderstood where it looks up none."""
    tensor: str = index_input
    while True:
        readers = [view.nodes[index] for index in view.readers.get(tensor, ())]
        lookups = [node for node in readers if node.op_type == "Gather" and node.input[1] == tensor]
        rows = [view.initializers[node.input[0]].dims[0] for node in lookups if node.input[0] in view.initializers]
        if rows:
            return int(min(rows))
        passing = [node for node in readers if node.op_type in _PASSING]
        if not passing:
            raise NotUnderstood(f"its input {index_input} looks up no embedding table")
        tensor = passing[0].output[0]


def noise_nodes(view: GraphView) -> list[int]:
    """Return the nodes that draw noise; NotUnderstood where the graph draws in a way that cannot be replaced."""
    pending = list(view.nodes)
    while pending:
        node = pending.pop()
        if node.op_type in OTHER_RANDOM_OPERATORS:
            raise NotUnderstood(f"it draws random numbers by {node.op_type}, which no seed reaches")
        for graph in subgraphs(node):
            if any(inner.op_type == NOISE_OPERATOR for inner in graph.node):
                raise NotUnderstood("it draws noise inside a branch, where no seed reaches")
            pending += graph.node
    return [index for index, node in enumerate(view.nodes) if node.op_type == NOISE_OPERATOR]


def find(view: GraphView) -> Anatomy:
    """Return where to cut the graph. NotUnderstood says what is not where a VITS graph has it."""
    noises = [view.nodes[index].output[0] for index in noise_nodes(view)]
    durations = _durations(view, noises)
    timed = view.made_by(view.downstream([durations]))
    frame_noises = [name for name in noises if name in timed]
    other_noises = [name for name in noises if name not in timed]
    if len(frame_noises) != 1 or len(other_noises) > 1:
        raise NotUnderstood(f"it draws noise {len(noises)} times, {len(frame_noises)} of them for each frame")
    mean, log_deviation, latents = _prior(view, frame_noises[0], timed | {durations})
    (audio,) = view.outputs[:1]
    body = view.downstream([latents]) & view.upstream([audio])
    if not body:
        raise NotUnderstood("its audio does not come from its latents")
    inner = view.made_by(body) | {latents}
    masks = {name for index in body for name in view.reads[index] if name in timed and name not in inner}
    return Anatomy(
        durations=durations,
        duration_noise=other_noises[0] if other_noises else None,
        mean=mean,
        log_deviation=log_deviation,
        frame_noise=frame_noises[0],
        latents=latents,
        masks=tuple(sorted(masks)),
        upsampled=_after_first_upsampling(view, latents, audio, body),
        audio=audio,
    )


def _durations(view: GraphView, noises: list[str]) -> str:
    """Return the Ceil that noise for frames depends on."""
    ceils: list[str] = [node.output[0] for node in view.nodes if node.op_type == "Ceil"]
    found = [name for name in ceils if view.made_by(view.downstream([name])) & set(noises)]
    if len(found) != 1:
        raise NotUnderstood(f"it has {len(found)} roundings of durations, expected one")
    return found[0]


def _prior(view: GraphView, noise: str, timed: set[str]) -> tuple[str, str, str]:
    """Follow noise * deviation * scale + mean; return mean and log deviation of each phoneme, and the sum."""
    tensor, factors = noise, list[str]()
    while True:
        readers = [view.nodes[index] for index in view.readers.get(tensor, ())]
        if len(readers) != 1:
            raise NotUnderstood(f"its noise for frames is read {len(readers)} times, expected once")
        node = readers[0]
        if node.op_type == "Mul":
            factors += _factors(view, _other(node, tensor))
        elif node.op_type == "Add":
            break
        elif node.op_type not in _PASSING:
            raise NotUnderstood(f"its noise for frames goes into {node.op_type}, expected a product and a sum")
        tensor = node.output[0]
    deviations = [name for name in factors if name in timed]
    if len(deviations) != 1:
        raise NotUnderstood(f"its noise for frames is scaled by {len(deviations)} deviations, expected one")
    exponential = view.node_making(deviations[0])
    if exponential is None or exponential.op_type != "Exp":
        raise NotUnderstood("its deviation is not the exponential of a logarithm")
    mean = _per_phoneme(view, _other(node, tensor), timed)
    return mean, _per_phoneme(view, exponential.input[0], timed), node.output[0]


def _factors(view: GraphView, tensor: str) -> list[str]:
    node = view.node_making(tensor)
    if node is not None and node.op_type == "Mul":
        return [factor for name in node.input for factor in _factors(view, name)]
    return [tensor]


def _other(node: NodeProto, tensor: str) -> str:
    names: list[str] = [name for name in node.input if name != tensor]
    if len(names) != 1:
        raise NotUnderstood("its noise for frames meets itself")
    return names[0]


def _per_phoneme(view: GraphView, tensor: str, timed: set[str]) -> str:
    """Return the (1, T, C) tensor that a path matrix has spread over the frames."""
    node = view.node_making(tensor)
    while node is not None and node.op_type in _RESHAPING:
        node = view.node_making(node.input[0])
    if node is None or node.op_type != "MatMul":
        raise NotUnderstood("mean and deviation are not spread over the frames by a matrix")
    path, value = map(str, node.input)
    if path not in timed or value in timed:
        raise NotUnderstood("mean and deviation are not what the matrix of durations multiplies")
    return value


def _after_first_upsampling(view: GraphView, latents: str, audio: str, body: set[int]) -> str:
    """Return the last tensor before the second ConvTranspose (or the only one) that all paths to the audio share."""
    pending = {name: len(body & set(view.readers.get(name, ()))) for name in view.made_by(body) | {latents}}
    n_upsamplings = sum(view.nodes[index].op_type == "ConvTranspose" for index in body)
    live, n_seen, found = {latents}, 0, ""
    for index in sorted(body):
        node = view.nodes[index]
        if node.op_type == "ConvTranspose":
            n_seen += 1
            if n_seen == min(2, n_upsamplings):
                break
        for name in set(view.reads[index]) & pending.keys():
            pending[name] -= 1
            if not pending[name]:
                live.discard(name)
        live |= {name for name in node.output if pending.get(name) or name == audio}
        if len(live) == 1:
            found = next(iter(live))
    if not found or not n_upsamplings:
        raise NotUnderstood("it has no upsampling convolution that all of its audio comes through")
    return found
