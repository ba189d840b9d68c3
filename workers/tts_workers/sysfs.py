"""Reads the machine from /sys and /proc. Everything is below a root directory, so that tests can make machines up.

Sources: Documentation/ABI/testing/sysfs-devices-system-cpu and Documentation/admin-guide/cputopology.rst of Linux. What
a kernel or a container does not show is taken for the plainest: one core a CPU, one cache, one node.
"""

from __future__ import annotations

from pathlib import Path

from tts_workers.cgroups import CpuLimits, read_limits
from tts_workers.machine import Cpu, Machine, read_cpu_list

# Relative speed of an E-core where the kernel names the kinds but not their capacities (Intel hybrids).
EFFICIENCY_CAPACITY = 0.6


def read_machine(affinity: set[int], root: Path = Path("/")) -> Machine:
    """Return the machine below `root`, as a process with this affinity may use it."""
    folder = root / "sys/devices/system/cpu"
    online = read_cpu_list(_text(folder / "online") or ",".join(map(str, sorted(affinity))))
    present = read_cpu_list(_text(folder / "present"))
    limits = read_limits(root)
    capacities = _capacities(root, folder, online)
    cpus = tuple(_cpu(folder, number, capacities[number]) for number in online)
    return Machine(
        cpus=cpus,
        allowed=_allowed(affinity, set(online), limits),
        quota=limits.quota,
        offline=tuple(cpu for cpu in present if cpu not in online),
    )


def _allowed(affinity: set[int], online: set[int], limits: CpuLimits) -> frozenset[int]:
    allowed = affinity & online
    return frozenset(allowed & limits.cpus if limits.cpus is not None else allowed)


def _cpu(folder: Path, number: int, capacity: float) -> Cpu:
    own = folder / f"cpu{number}"
    siblings = _list(own / "topology/core_cpus_list") or _list(own / "topology/thread_siblings_list") or [number]
    socket = _number(own / "topology/physical_package_id", 0)
    return Cpu(
        id=number,
        core=min(siblings),
        l3=_last_level_cache(own, number, socket),
        node=_node(own),
        socket=max(0, socket),
        capacity=capacity,
    )


def _last_level_cache(own: Path, number: int, socket: int) -> int:
    """Return the lowest CPU that shares the L3, or the L2 where there is no L3."""
    best_level, shared = 0, [number]
    for index in sorted((own / "cache").glob("index*")):
        level = _number(index / "level", 0)
        if level >= max(2, best_level) and _text(index / "type") != "Instruction":
            best_level, shared = level, _list(index / "shared_cpu_list") or [number]
    if best_level >= 3:
        return min(shared)
    # Without an L3 the caches of single cores or clusters are no domain to keep together; the package is.
    package = _list(own / "topology/package_cpus_list") or _list(own / "topology/core_siblings_list")
    return min(package) if package else -1 - max(0, socket)


def _node(own: Path) -> int:
    nodes = [int(path.name[4:]) for path in own.glob("node*") if path.name[4:].isdigit()]
    return nodes[0] if nodes else 0


def _capacities(root: Path, folder: Path, online: list[int]) -> dict[int, float]:
    """Return each CPU's capacity: the kernel's (arm64), or what the two kinds of an Intel hybrid stand for."""
    raw = {cpu: _number(folder / f"cpu{cpu}/cpu_capacity", 0) for cpu in online}
    fastest = max(raw.values(), default=0)
    if fastest:
        return {cpu: (value or fastest) / fastest for cpu, value in raw.items()}
    efficient = set(_list(root / "sys/devices/cpu_atom/cpus"))
    return {cpu: EFFICIENCY_CAPACITY if cpu in efficient else 1.0 for cpu in online}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def _number(path: Path, default: int) -> int:
    try:
        return int(_text(path))
    except ValueError:
        return default


def _list(path: Path) -> list[int]:
    try:
        return read_cpu_list(_text(path))
    except ValueError:
        return []
