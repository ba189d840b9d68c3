"""Holds what a synthesis process really has against its plan. Pure; the readings are passed in."""

from __future__ import annotations

from collections.abc import Mapping

from tts_service.protocol import Ready
from tts_workers.machine import cpu_ranges
from tts_workers.spec import WorkerSpec


def plan_faults(
    spec: WorkerSpec, ready: Ready | None, affinities: Mapping[int, frozenset[int]], n_threads_when_ready: int
) -> list[str]:
    """Return in words how a process differs from its plan; [] where it does not.

    `affinities` holds the CPUs of each of its threads by thread id, as the kernel has them now.
    """
    faults = []
    if affinities and len(affinities) != n_threads_when_ready:
        faults.append(f"it has {len(affinities)} threads, {n_threads_when_ready} when it became ready")
    planned = frozenset(spec.cpus)
    found = sorted({cpu_ranges(cpus) for cpus in affinities.values() if cpus != planned})
    if found:
        faults.append(f"affinity is {' and '.join(found)}, planned {cpu_ranges(planned)}")
    if ready is not None:
        runtime = ready.runtime
        if runtime.intra_op_threads != spec.n_threads:
            faults.append(f"intra-op threads are {runtime.intra_op_threads}, planned {spec.n_threads}")
        if runtime.spinning:
            faults.append("pool threads spin while they wait, planned to sleep")
    return faults
