"""An ONNX graph as surgery sees it: who makes and who reads each tensor, and how to cut a part out. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, helper

Stops = frozenset[str]


class NotUnderstood(Exception):
    """A graph that surgery finds no way through; the message says what is missing."""


class GraphView:
    """A model's main graph with its edges. Nodes are named by their index; ONNX keeps them in topological order."""

    def __init__(self, model: ModelProto) -> None:
        self.model = model
        self.nodes: list[NodeProto] = list(model.graph.node)
        self.initializers: dict[str, TensorProto] = {tensor.name: tensor for tensor in model.graph.initializer}
        self.inputs = {value.name: value for value in model.graph.input if value.name not in self.initializers}
        self.outputs = [value.name for value in model.graph.output]
        self.reads = [tensors_read(node) for node in self.nodes]
        self.maker = {name: index for index, node in enumerate(self.nodes) for name in node.output if name}
        self.readers: dict[str, list[int]] = {}
        for index, names in enumerate(self.reads):
            for name in names:
                self.readers.setdefault(name, []).append(index)

    def upstream(self, wanted: Iterable[str], stops: Iterable[str] = ()) -> set[int]:
        """Return the nodes that the `wanted` tensors are made by, directly or not, without going past `stops`."""
        seen, pending, found = set(stops), list(wanted), set()
        while pending:
            name = pending.pop()
            index = self.maker.get(name)
            if name in seen or index is None:
                continue
            seen.add(name)
            found.add(index)
            pending.extend(self.reads[index])
        return found

    def downstream(self, sources: Iterable[str]) -> set[int]:
        """Return the nodes that depend on any of the `sources`."""
        pending, found = list(sources), set[int]()
        while pending:
            for index in self.readers.get(pending.pop(), ()):
                if index not in found:
                    found.add(index)
                    pending.extend(self.nodes[index].output)
        return found

    def made_by(self, nodes: Iterable[int]) -> set[str]:
        """Return the tensors that these nodes make."""
        return {name for index in nodes for name in self.nodes[index].output if name}

    def node_making(self, name: str) -> NodeProto | None:
        """Return the node that makes a tensor, None for an input or initializer."""
        index = self.maker.get(name)
        return None if index is None else self.nodes[index]

    def part(self, inputs: Mapping[str, tuple[str, int]], outputs: Mapping[str, str]) -> ModelProto:
        """Return the model that computes `outputs` from `inputs`, both {tensor here: its name there}.

        An input's name comes with its element type. NotUnderstood where anything else would be needed.
        """
        nodes = sorted(self.upstream(outputs, inputs))
        read = {name for index in nodes for name in self.reads[index]} | set(outputs)
        made = self.made_by(nodes)
        missing = read - made - set(inputs) - set(self.initializers)
        if missing:
            raise NotUnderstood(f"{', '.join(outputs.values())} cannot be had without {', '.join(sorted(missing))}")
        names = {name: new for name, (new, _) in inputs.items()} | dict(outputs)
        types = {new: kind for name, (new, kind) in inputs.items() if name in read}
        graph = helper.make_graph(
            [renamed(self.nodes[index], names) for index in nodes],
            "part",
            [helper.make_tensor_value_info(name, kind, None) for name, kind in types.items()],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs.values()],
            [self.initializers[name] for name in sorted(read & set(self.initializers))],
        )
        return model_of(graph, self.model)


def model_of(graph: GraphProto, like: ModelProto) -> ModelProto:
    """Return a graph as a model with the operator sets of another."""
    version = max(like.ir_version, 4)  # before 4, initializers had to be inputs, too
    return helper.make_model(graph, opset_imports=like.opset_import, ir_version=version)


def subgraphs(node: NodeProto) -> list[GraphProto]:
    """Return the graphs inside a node, such as the branches of an If."""
    found = [attribute.g for attribute in node.attribute if attribute.type == AttributeProto.GRAPH]
    return found + [graph for attribute in node.attribute for graph in attribute.graphs]


def tensors_read(node: NodeProto) -> list[str]:
    """Return the tensors that a node reads, those that its subgraphs take from outside included."""
    names = [name for name in node.input if name]
    for graph in subgraphs(node):
        own = {tensor.name for tensor in graph.initializer} | {value.name for value in graph.input}
        for inner in graph.node:
            names += [name for name in tensors_read(inner) if name not in own]
            own |= set(inner.output)
        names += [value.name for value in graph.output if value.name not in own]
    return names


def names_in(nodes: Iterable[NodeProto]) -> set[str]:
    """Return all names of tensors in these nodes and in their subgraphs."""
    found = set[str]()
    for node in nodes:
        found |= {*node.input, *node.output}
        for graph in subgraphs(node):
            found |= {value.name for value in (*graph.input, *graph.output, *graph.initializer)}
            found |= names_in(graph.node)
    return found - {""}


def renamed(node: NodeProto, names: Mapping[str, str]) -> NodeProto:
    """Return a copy of a node with the tensors in `names` called otherwise, in its subgraphs, too."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    _rename(copy, names)
    return copy


def _rename(node: NodeProto, names: Mapping[str, str]) -> None:
    for own in (node.input, node.output):
        for position, name in enumerate(own):
            own[position] = names.get(name, name)
    for graph in subgraphs(node):
        for inner in graph.node:
            _rename(inner, names)
        for value in (*graph.input, *graph.output, *graph.initializer):
            value.name = names.get(value.name, value.name)
