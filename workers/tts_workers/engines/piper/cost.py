"""How much work a part is, counted from its convolutions, and how long its steps may be. Pure.

Counted and not timed, because the length of a block decides over bits: it must be the same on every machine.
"""

from __future__ import annotations

import msgspec
from onnx import ModelProto, NodeProto

from tts_workers.engines.piper.synthesis import Facts
from tts_workers.engines.piper.windows import TILE_FRAMES

# A slow core of today: multiplications and additions of float32 convolutions a second. (Measured: 32e9 and 74e9.)
SLOW_MACS_PER_S = 30e9
BLOCK_S, TAIL_STEP_S = 0.42, 0.25
SHORTEST_BLOCK, LONGEST_BLOCK = 256, 512
LONGEST_STEP_FRAMES = 256
# Measured: 0.13 s for the longest part of a text (802 ids) on a core of 74e9.
ENCODER_STEP_S = 0.35


def macs_per_frame(part: ModelProto, source: str, places: int) -> float:
    """Return the multiplications for a frame, of which `source` holds `places`."""
    initializers = {tensor.name: tensor.dims for tensor in part.graph.initializer}
    rates, total = {source: float(places)}, 0.0
    for node in part.graph.node:
        rate = max((rates[name] for name in node.input if name in rates), default=0.0)
        weights = next((list(initializers[name]) for name in node.input[1:] if name in initializers), [])
        if node.op_type in ("Conv", "ConvTranspose", "MatMul") and rate:
            size = 1.0
            for length in weights:
                size *= length
            total += rate * size
        rate *= _stride(node) if node.op_type == "ConvTranspose" else 1
        if rate:
            rates |= dict.fromkeys(node.output, rate)
    return total


def with_limits(facts: Facts, body_macs: float, tail_macs: float) -> Facts:
    """Return `facts` with how many frames the body may run on at once, and the tail in one step."""
    block = _fitting(BLOCK_S, body_macs, SHORTEST_BLOCK, LONGEST_BLOCK)
    step = _fitting(TAIL_STEP_S, tail_macs, TILE_FRAMES, LONGEST_STEP_FRAMES)
    longest = max((block + 2 * facts.body_margin) * body_macs, step * tail_macs) / SLOW_MACS_PER_S
    return msgspec.structs.replace(
        facts, longest_block=block, step_frames=step, longest_step_s=max(longest, ENCODER_STEP_S)
    )


def _fitting(seconds: float, macs: float, least: int, most: int) -> int:
    n_frames = int(seconds * SLOW_MACS_PER_S / max(macs, 1.0)) // TILE_FRAMES * TILE_FRAMES
    return min(max(n_frames, least), most)


def _stride(node: NodeProto) -> int:
    strides = [list(attribute.ints) for attribute in node.attribute if attribute.name == "strides"]
    return int(strides[0][0]) if strides else 1
