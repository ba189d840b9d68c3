"""onnxruntime sessions with this product's options, for every engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tts_service.errors import EngineBroken
from tts_service.protocol import Runtime

_SPINNING = "session.intra_op.allow_spinning"


def cpu_session(model: Path | bytes, n_threads: int, weights: Path | None = None) -> Any:
    """Return an InferenceSession for `model` that runs on `n_threads` threads, the calling one included.

    `model` is a file, or a serialized model whose external tensors are looked up from the directory `weights`.
    The count is explicit, because onnxruntime's default is the machine's physical cores, whatever the affinity;
    and its threads sleep while they wait, because spinning ones take a third of the throughput (measured on VITS).
    EngineBroken where the file cannot be loaded.
    """
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = n_threads
    options.inter_op_num_threads = 1
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.add_session_config_entry(_SPINNING, "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    options.log_severity_level = 3
    if weights is not None:
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(weights))
    source = model if isinstance(model, bytes) else str(model)
    try:
        return ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise EngineBroken(f"cannot load {'a graph' if isinstance(model, bytes) else model}: {error}") from error


def session_runtime(sessions: list[Any]) -> Runtime:
    """Return what these sessions were really made with: the largest pool, and whether any spins."""
    options = [session.get_session_options() for session in sessions]
    return Runtime(
        intra_op_threads=max(option.intra_op_num_threads for option in options),
        spinning=any(option.get_session_config_entry(_SPINNING) != "0" for option in options),
    )
