"""What the CPU plan knows about a machine. Pure data; sysfs.py reads it, tests make it up."""

from __future__ import annotations

from dataclasses import dataclass

# More than any kernel is built for: a longer range is a slip of the pen, and would only fill the memory.
MAX_CPUS = 65536


@dataclass(frozen=True)
class Cpu:
    """One logical CPU that is online."""

    id: int
    core: int
    """Lowest CPU id of its physical core; SMT siblings share it."""
    l3: int
    """Lowest CPU id of those it shares its last-level cache with."""
    node: int
    """NUMA node."""
    socket: int
    capacity: float
    """Speed against the machine's fastest kind of core, above 0 to 1."""


@dataclass(frozen=True)
class Core:
    """One physical core, as far as this process may use it."""

    cpus: tuple[int, ...]
    """Its usable logical CPUs, the lowest first."""
    l3: int
    node: int
    socket: int
    capacity: float


@dataclass(frozen=True)
class Machine:
    """A machine, and the part of it that this process may use."""

    cpus: tuple[Cpu, ...]
    allowed: frozenset[int]
    """Online CPUs in both the affinity and the cpuset."""
    quota: float | None = None
    """CPUs' worth of time that the control group may use, None for no limit."""
    offline: tuple[int, ...] = ()

    @property
    def cores(self) -> list[Core]:
        """The usable physical cores: faster kinds first, then cache by cache."""
        found: dict[int, list[Cpu]] = {}
        for cpu in self.cpus:
            if cpu.id in self.allowed:
                found.setdefault(cpu.core, []).append(cpu)
        cores = [
            Core(tuple(sorted(cpu.id for cpu in group)), group[0].l3, group[0].node, group[0].socket, group[0].capacity)
            for group in found.values()
        ]
        return sorted(cores, key=lambda core: (-core.capacity, core.socket, core.node, core.l3, core.cpus))


def cpu_ranges(cpus: list[int] | tuple[int, ...] | frozenset[int]) -> str:
    """Return [0, 1, 2, 8] as "0-2,8"."""
    parts: list[list[int]] = []
    for cpu in sorted(cpus):
        if parts and cpu == parts[-1][-1] + 1:
            parts[-1].append(cpu)
        else:
            parts.append([cpu])
    return ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def read_cpu_list(text: str) -> list[int]:
    """Return the CPUs that the kernel's list format names: "0-3,8". ValueError where it cannot be read."""
    cpus: list[int] = []
    for part in filter(None, text.strip().replace(" ", "").split(",")):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise ValueError(part)
        if not int(first) <= int(last or first) < MAX_CPUS:
            raise ValueError(part)
        cpus.extend(range(int(first), int(last or first) + 1))
    return cpus
