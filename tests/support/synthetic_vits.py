"""Small made-up voices in the shape of Piper's, for tests of what reads, cuts and runs them. They speak noise.

Every graph has a text encoder, a duration predictor, a prior, one coupling layer and a decoder with two upsamplings;
`Build` says in which respects it differs from others.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from tts_workers.engines.piper.voice import VoiceFile, read_voice

SYMBOLS = "_^$ !',-.:;?abcdefghijklmnopqrstuvwxyzæðŋɐɑɒɔəɚɛɜɡɪɹɾʃʊʌʒʔˈˌːθᵻ"
SPEAKER_NAMES = ["ann", "bob", "7"]

Fault = Literal[
    "", "uniform", "rounded", "softplus", "noise twice", "mean over time", "no upsampling", "text in decoder"
]


@dataclass(frozen=True)
class Build:
    """What a graph is like."""

    n_speakers: int = 1
    duration_noise: bool = True
    names: str = "/net/"
    """How its tensors' names begin."""
    constants_are_nodes: bool = False
    with_branch: bool = False
    """Part of the encoder stands in an If."""
    strides: tuple[int, int] = (8, 8)
    rows: int = len(SYMBOLS)
    """Of the table of phonemes."""
    speaker_rows: int = 0
    """Of the table of speakers; 0 for as many as there are."""
    fault: Fault = ""
    """Where it is not as a VITS graph is."""
    opset: int = 15
    seed: int = 0


def model_of(build: Build) -> ModelProto:
    """Return the graph."""
    return _Maker(build).model()


def write_voice(directory: Path, name: str = "made-up", build: Build | None = None, **config: Any) -> VoiceFile:
    """Write a voice's two files; `config` replaces entries of its config. Returns it as it is read."""
    build = build or Build()
    directory.mkdir(parents=True, exist_ok=True)
    model = directory / f"{name}.onnx"
    model.write_bytes(model_of(build).SerializeToString())
    names = {key: number for number, key in enumerate(SPEAKER_NAMES[: build.n_speakers])}
    entries: dict[str, Any] = {
        "audio": {"sample_rate": 16000},
        "espeak": {"voice": "en-us"},
        "inference": {"noise_scale": 0.667, "length_scale": 1, "noise_w": 0.8},
        "phoneme_type": "text",
        "phoneme_id_map": {symbol: [number] for number, symbol in enumerate(SYMBOLS)},
        "num_symbols": len(SYMBOLS),
        "num_speakers": build.n_speakers,
        "speaker_id_map": names if build.n_speakers > 1 else {},
        "language": {"code": "en_GB"},
    }
    (directory / f"{name}.onnx.json").write_text(json.dumps(entries | config), encoding="utf-8")
    return read_voice(model)


class _Maker:
    """Adds nodes one by one; a method for each organ."""

    def __init__(self, build: Build) -> None:
        self.build = build
        self.nodes: list[NodeProto] = []
        self.initializers: list[TensorProto] = []
        self.n = 0
        self.random = np.random.default_rng(build.seed)

    def name(self) -> str:
        self.n += 1
        return f"{self.build.names}{self.n}"

    def add(self, operator: str, *inputs: str, n: int = 1, **attributes: Any) -> Any:
        """Add a node; return the name of its output, or of its `n` outputs."""
        outputs = [self.name() for _ in range(n)]
        self.nodes.append(helper.make_node(operator, list(inputs), outputs, **attributes))
        return outputs[0] if n == 1 else outputs

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        tensor = numpy_helper.from_array(np.asarray(value, dtype), self.name())
        if self.build.constants_are_nodes and tensor.data_type == TensorProto.INT64:
            return str(self.add("Constant", value=tensor))
        self.initializers.append(tensor)
        return str(tensor.name)

    def weights(self, *shape: int, scale: float = 0.4) -> str:
        fan_in = max(1, int(np.prod(shape[1:])))
        return self.constant(self.random.standard_normal(shape) * scale * 3 / np.sqrt(fan_in))

    def conv(self, tensor: str, n_in: int, n_out: int, size: int, dilation: int = 1) -> str:
        pad = (size - 1) // 2 * dilation
        weight, bias = self.weights(n_out, n_in, size), self.weights(n_out, scale=0.05)
        return str(self.add("Conv", tensor, weight, bias, pads=[pad, pad], dilations=[dilation], kernel_shape=[size]))

    def scale(self, index: int) -> str:
        return str(self.add("Gather", "scales", self.constant(index, np.int64), axis=0))

    def model(self) -> ModelProto:
        text, mean, log_deviation = self.encoder()
        durations = self.durations(text)
        path, mask = self.path(durations)
        latents = self.prior(path, mean, log_deviation)
        audio = self.decoder(self.flow(latents, mask), mask, text)
        self.nodes.append(helper.make_node("Unsqueeze", [audio, self.constant([1], np.int64)], ["output"]))
        return helper.make_model(self.graph(), opset_imports=[helper.make_opsetid("", self.build.opset)], ir_version=8)

    def graph(self) -> GraphProto:
        inputs = [("input", TensorProto.INT64, ["b", "t"]), ("input_lengths", TensorProto.INT64, ["b"])]
        inputs += [("scales", TensorProto.FLOAT, [3])]
        if self.build.n_speakers > 1:
            inputs.append(("sid", TensorProto.INT64, ["b"]))
        return helper.make_graph(
            self.nodes,
            "vits",
            [helper.make_tensor_value_info(*value) for value in inputs],
            [helper.make_tensor_value_info("output", TensorProto.FLOAT, ["b", 1, 1, "n"])],
            self.initializers,
        )

    def speaker(self, n_out: int) -> str | None:
        """Return what the speaker adds, (1, n_out, 1)."""
        if self.build.n_speakers == 1:
            return None
        if not hasattr(self, "_speaker"):
            rows = self.build.speaker_rows or self.build.n_speakers
            self._speaker = self.add("Gather", self.weights(rows, 4, scale=1.0), "sid", axis=0)
            self._speaker = self.add("Unsqueeze", self._speaker, self.constant([2], np.int64))
        return self.conv(self._speaker, 4, n_out, 1)

    def with_speaker(self, tensor: str, n: int) -> str:
        speaker = self.speaker(n)
        return tensor if speaker is None else str(self.add("Add", tensor, speaker))

    def encoder(self) -> tuple[str, str, str]:
        """Return the encoded text (1, 8, T), mean and log deviation, both (1, 8, T)."""
        table = self.weights(self.build.rows, 8, scale=1.0)
        text = self.add("Transpose", self.add("Gather", table, "input", axis=0), perm=[0, 2, 1])
        length = self.add(
            "Reshape", self.add("Cast", "input_lengths", to=TensorProto.FLOAT), self.constant([1], np.int64)
        )
        # As x_mask does, the lengths touch every phoneme.
        text = self.add("Mul", text, self.add("Div", length, length))
        text = self.add("Add", text, self.add("Relu", self.conv(text, 8, 8, 3)))
        if self.build.with_branch:
            text = self.branch(text)
        mean, log_deviation = self.add("Split", self.conv(text, 8, 16, 3), n=2, axis=1)
        return text, mean, str(self.add("Mul", log_deviation, self.constant(0.3)))

    def branch(self, tensor: str) -> str:
        """Pass a tensor through an If, one branch of which takes it from outside."""
        inner, doubled, other = self.name(), self.name(), self.name()
        value = helper.make_tensor_value_info
        then = [helper.make_node("Add", [tensor, tensor], [inner]), helper.make_node("Tanh", [inner], [doubled])]
        branches = {
            "then_branch": helper.make_graph(then, "then", [], [value(doubled, TensorProto.FLOAT, None)]),
            "else_branch": helper.make_graph(
                [helper.make_node("Identity", [tensor], [other])], "else", [], [value(other, TensorProto.FLOAT, None)]
            ),
        }
        condition = self.add("Greater", self.scale(1), self.constant(0.0))
        return str(self.add("If", condition, **branches))

    def durations(self, text: str) -> str:
        """Return frames for each phoneme, (1, 1, T)."""
        log = self.conv(self.with_speaker(text, 8), 8, 1, 3)
        if self.build.duration_noise:
            log = self.add("Add", log, self.conv(self.duration_noise(text), 2, 1, 1))
        length = self.add("Mul", self.add("Exp", log), self.scale(1))
        return str(self.add("Round" if self.build.fault == "rounded" else "Ceil", length))

    def duration_noise(self, text: str) -> str:
        n_phonemes = self.add("Slice", self.add("Shape", text), *(self.constant([n], np.int64) for n in (2, 3)))
        shape = self.add("Concat", self.constant([1, 2], np.int64), n_phonemes, axis=0)
        operator = "RandomUniformLike" if self.build.fault == "uniform" else "RandomNormalLike"
        return str(self.add("Mul", self.add(operator, self.add("ConstantOfShape", shape)), self.scale(2)))

    def path(self, durations: str) -> tuple[str, str]:
        """Return which frame is which phoneme's, (1, F, T), and which frames are there, (1, 1, F)."""
        ends = self.add("CumSum", durations, self.constant(2, np.int64))
        total = self.add("ReduceSum", durations, self.constant([0, 1, 2], np.int64), keepdims=0)
        zero, one = self.constant(0.0), self.constant(1.0)
        frames = self.add("Range", zero, total, one)
        column = self.add("Unsqueeze", frames, self.constant([0, 2], np.int64))
        before = self.add("Less", column, ends)
        after = self.add("Not", self.add("Less", column, self.add("Sub", ends, durations)))
        path = self.add("Cast", self.add("And", before, after), to=TensorProto.FLOAT)
        mask = self.add("Cast", self.add("Less", frames, total), to=TensorProto.FLOAT)
        return path, str(self.add("Unsqueeze", mask, self.constant([0, 1], np.int64)))

    def spread(self, path: str, tensor: str) -> str:
        each = self.add("Transpose", tensor, perm=[0, 2, 1])
        return str(self.add("Transpose", self.add("MatMul", path, each), perm=[0, 2, 1]))

    def prior(self, path: str, mean: str, log_deviation: str) -> str:
        """Return the latents, (1, 8, F)."""
        mean, log_deviation = self.spread(path, mean), self.spread(path, log_deviation)
        noise = self.add("RandomNormalLike", mean)
        deviation = self.add("Softplus" if self.build.fault == "softplus" else "Exp", log_deviation)
        scaled = self.add("Mul", self.add("Mul", noise, deviation), self.scale(0))
        latents = self.add("Add", mean, scaled)
        return str(self.add("Add", latents, noise) if self.build.fault == "noise twice" else latents)

    def flow(self, latents: str, mask: str) -> str:
        one, other = self.add("Split", latents, n=2, axis=1)
        hidden = self.with_speaker(self.conv(self.add("Mul", one, mask), 4, 8, 5), 8)
        shift = self.conv(self.add("Tanh", hidden), 8, 4, 1)
        return str(self.add("Mul", self.add("Concat", self.add("Sub", other, shift), one, axis=1), mask))

    def decoder(self, latents: str, mask: str, text: str) -> str:
        """Return the audio, (1, 1, N)."""
        hidden = self.with_speaker(self.conv(self.add("Mul", latents, mask), 8, 8, 7), 8)
        if self.build.fault == "mean over time":
            hidden = self.add("Sub", hidden, self.add("ReduceMean", hidden, axes=[2]))
        if self.build.fault == "text in decoder":
            hidden = self.add("Add", hidden, self.add("ReduceMean", text, axes=[2]))
        channels = 8
        for stride in () if self.build.fault == "no upsampling" else self.build.strides:
            hidden = self.upsampling(hidden, channels, stride)
            channels //= 2
        quiet = self.add("Mul", self.add("LeakyRelu", hidden, alpha=0.1), self.constant(0.2))
        audio = self.conv(quiet, channels, 1, 7)
        return str(self.add("Tanh", audio))

    def upsampling(self, hidden: str, channels: int, stride: int) -> str:
        weight = self.weights(channels, channels // 2, 2 * stride, scale=1.0)
        hidden = self.add("LeakyRelu", hidden, alpha=0.1)
        pads = [stride // 2, stride // 2]
        hidden = self.add("ConvTranspose", hidden, weight, strides=[stride], pads=pads, kernel_shape=[2 * stride])
        for dilation in (1, 3):
            activated = self.add("LeakyRelu", hidden, alpha=0.1)
            hidden = self.add("Add", hidden, self.conv(activated, channels // 2, channels // 2, 3, dilation))
        return str(hidden)
