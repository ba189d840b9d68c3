"""All parts of all voices of a worker in one onnxruntime session, so that they share one arena.

The session's graph has an If for each part, and the input `@which` says which one runs. Parts run as fast so as in
sessions of their own, with equal bits (measured). The session computes on the thread that calls it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from tts_service.errors import EngineBroken
from tts_workers.engines.ort import cpu_session
from tts_workers.engines.piper.cache import Entry
from tts_workers.engines.piper.graph import names_in, renamed
from tts_workers.engines.piper.synthesis import Run

WHICH, NOTHING = "@which", "@nothing"


class Bundle:
    """The session. Call `load`, then the functions that `runner` gives, from any threads."""

    def __init__(self) -> None:
        self.session: Any = None
        self._places: dict[tuple[str, str], int] = {}
        """Number of each (voice, part)."""
        self._outputs: list[list[str]] = []
        self._nothing: dict[str, Any] = {}
        """An empty value for each input."""

    def load(self, voices: Mapping[str, Entry]) -> None:
        """Make the session. EngineBroken where the voices do not go together."""
        builder = _Builder()
        for voice, entry in voices.items():
            for part, model in entry.parts().items():
                self._places[voice, part] = len(self._outputs)
                self._outputs.append(builder.add(model, len(self._outputs), entry.directory))
        # Weights are named by their whole paths, seen from the root.
        self.session = cpu_session(builder.model().SerializeToString(), 1, weights=Path("/"))
        self._nothing = {name: np.zeros(1, _TYPES[kind]) for name, kind in builder.inputs.items()}

    def runner(self, voice: str) -> Run:
        """Return what runs the parts of a voice."""

        def run(part: str, inputs: Mapping[str, Any]) -> list[Any]:
            place = self._places[voice, part]
            given = {name: value for name, value in inputs.items() if name in self._nothing}
            feeds = self._nothing | given | {WHICH: np.asarray(place, np.int64)}
            outputs: list[Any] = self.session.run(self._outputs[place], feeds)
            return outputs

        return run


_TYPES: dict[int, Any] = {TensorProto.FLOAT: np.float32, TensorProto.INT64: np.int64}


class _Builder:
    """Puts the graph together."""

    def __init__(self) -> None:
        self.inputs: dict[str, int] = {WHICH: TensorProto.INT64}
        self._nodes: list[NodeProto] = []
        self._initializers = [numpy_helper.from_array(np.zeros(0, np.float32), NOTHING)]
        self._outputs: list[str] = []
        self._operators: dict[str, int] = {}
        self._ir_version = 0

    def add(self, model: ModelProto, place: int, directory: Path) -> list[str]:
        """Add a part whose weights are in `directory`; return the names of its outputs."""
        self._take_operators(model)
        graph = model.graph
        inputs = {value.name: value.type.tensor_type.elem_type for value in graph.input}
        self.inputs |= inputs
        own = names_in(graph.node) | {tensor.name for tensor in graph.initializer}
        names = {name: f"{place}.{name}" for name in own - set(inputs)}
        branch = helper.make_graph(
            [renamed(node, names) for node in graph.node],
            f"part{place}",
            [],
            [_floats(names[value.name]) for value in graph.output],
        )
        for tensor in graph.initializer:
            self._initializers.append(_relocated(tensor, names[tensor.name], directory))
        outputs = [f"@out{place}.{n}" for n in range(len(graph.output))]
        self._add_if(place, branch, outputs)
        self._outputs += outputs
        return outputs

    def model(self) -> ModelProto:
        """Return the whole."""
        graph = helper.make_graph(
            self._nodes,
            "voices",
            [helper.make_tensor_value_info(WHICH, TensorProto.INT64, [])]
            + [helper.make_tensor_value_info(name, kind, None) for name, kind in self.inputs.items() if name != WHICH],
            [_floats(name) for name in self._outputs],
            self._initializers,
        )
        operators = [helper.make_opsetid(domain, version) for domain, version in self._operators.items()]
        return helper.make_model(graph, opset_imports=operators, ir_version=self._ir_version)

    def _add_if(self, place: int, branch: GraphProto, outputs: list[str]) -> None:
        otherwise = [f"{place}@{n}" for n in range(len(outputs))]
        nothing = helper.make_graph(
            [helper.make_node("Identity", [NOTHING], [name]) for name in otherwise],
            f"not{place}",
            [],
            [_floats(name) for name in otherwise],
        )
        self._initializers.append(numpy_helper.from_array(np.array(place, np.int64), f"@place{place}"))
        self._nodes += [
            helper.make_node("Equal", [WHICH, f"@place{place}"], [f"@is{place}"]),
            helper.make_node("If", [f"@is{place}"], outputs, then_branch=branch, else_branch=nothing),
        ]

    def _take_operators(self, model: ModelProto) -> None:
        self._ir_version = max(self._ir_version, model.ir_version)
        for operators in model.opset_import:
            known = self._operators.setdefault(operators.domain, operators.version)
            if known != operators.version:
                raise EngineBroken(_DIFFERENT_OPERATORS.format(known, operators.version))


_DIFFERENT_OPERATORS = (
    "voices of different ONNX operator sets ({} and {}) cannot run in one session: give each its own pool"
)


def _floats(name: str) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, None)


def _relocated(tensor: TensorProto, name: str, directory: Path) -> TensorProto:
    """Return a tensor under another name, with the place of its values, where they are outside, seen from the root."""
    copy = TensorProto()
    copy.CopyFrom(tensor)
    copy.name = name
    for entry in copy.external_data:
        if entry.key == "location":
            entry.value = str((directory / entry.value).resolve().relative_to("/"))
    return copy
