"""What the supervisor tells a synthesis process at its start, and how both derive a model generation from it. Pure."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from tts_service.protocol import EngineInfo
from tts_workers.engines.base import EngineOptions

# A process that computes on its own threads has no use for other libraries' pools, nor for telemetry.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "BLIS_NUM_THREADS",
)
FIXED_VARIABLES = {"ORT_DISABLE_TELEMETRY": "1", "PYTHONUNBUFFERED": "1", "OMP_WAIT_POLICY": "PASSIVE"}


class WorkerSpec(msgspec.Struct, frozen=True):
    """One life of one synthesis process."""

    index: int
    incarnation: int
    """Counts the lives of this index, from 1."""
    parent_pid: int
    endpoint: str
    pool: str
    engine: str
    models: str
    options: dict[str, bool | int | float | str]
    cpus: list[int]
    n_threads: int
    n_slots: int
    heartbeat_s: float
    log_level: str
    wide: bool = False
    """True for the pool's worker that has all its CPUs, for lone segments."""

    @property
    def identity(self) -> bytes:
        """ZeroMQ identity: fresh for every life, so that nothing meant for a dead process reaches a new one."""
        return f"{self.index}.{self.incarnation}".encode()

    @property
    def engine_options(self) -> EngineOptions:
        """The engine's part."""
        return EngineOptions(Path(self.models) if self.models else None, self.n_threads, self.options)

    def to_json(self) -> str:
        """Return the command-line argument that carries the spec."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_json(cls, text: str) -> WorkerSpec:
        """Read that argument."""
        return msgspec.json.decode(text, type=cls)


def worker_environment(base: dict[str, str], n_threads: int) -> dict[str, str]:
    """Return the environment of a synthesis process: every thread-count variable is set before anything is imported."""
    # One thread for numpy and everything else: only the engine's own sessions use the budget.
    return base | FIXED_VARIABLES | dict.fromkeys(THREAD_VARIABLES, "1") | {"TTS_WORKER_THREADS": str(n_threads)}


def generation_of(info: EngineInfo, n_threads: int) -> str:
    """Return a short digest of all that the audio of a job depends on besides the job."""
    threads = "any" if info.thread_invariant else str(n_threads)
    facts = f"{info.name} {info.model_hash} {info.sample_rate_hz} {threads}"
    return hashlib.sha256(facts.encode()).hexdigest()[:16]
