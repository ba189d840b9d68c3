"""The CPU plan for people and for programs: a drawing of the CPUs, and JSON. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from tts_workers.cpuplan import CpuPlan
from tts_workers.machine import Cpu, Machine, cpu_ranges

WIDTH = 100


def draw_plan(machine: Machine, plan: CpuPlan) -> str:
    """Return the machine, a drawing of its CPUs with what runs on each, the workers, and the warnings."""
    lines = [_describe(machine), ""]
    marks = _marks(machine, plan)
    for socket in sorted({cpu.socket for cpu in machine.cpus}):
        lines += _draw_socket(machine, socket, marks)
    lines += ["", "  w0, w1 …: pinned to that worker   .: free   r: kept free for the gateway   x: not allowed", ""]
    for index, worker in enumerate(plan.workers):
        threads = f"{worker.n_threads} thread{'s' * (worker.n_threads > 1)}"
        lines.append(f"worker {index}: pool {worker.pool}, {threads} on CPU {cpu_ranges(worker.cpus)}")
    for index, worker in enumerate(plan.wide, len(plan.workers)):
        where = cpu_ranges(worker.cpus)
        lines.append(f"worker {index}: pool {worker.pool}, wide, up to {worker.n_threads} threads on CPU {where}")
    lines += [f"warning: {warning}" for warning in dict.fromkeys(plan.warnings)]
    return "\n".join(lines)


def plan_as_json(machine: Machine, plan: CpuPlan) -> str:
    """Return the same as JSON."""
    value = {
        "machine": {
            "cpus": [asdict(cpu) for cpu in machine.cpus],
            "allowed": sorted(machine.allowed),
            "offline": list(machine.offline),
            "quota": machine.quota,
        },
        "workers": [asdict(worker) for worker in plan.workers],
        "wide": [asdict(worker) for worker in plan.wide],
        "reserved": plan.reserved,
        "unused": plan.unused,
        "warnings": list(dict.fromkeys(plan.warnings)),
    }
    return json.dumps(value, indent=2)


def _describe(machine: Machine) -> str:
    cores = {cpu.core for cpu in machine.cpus}
    counts = [
        (len({cpu.socket for cpu in machine.cpus}), "socket"),
        (len({cpu.node for cpu in machine.cpus}), "NUMA node"),
        (len({cpu.l3 for cpu in machine.cpus}), "last-level cache"),
        (len(cores), "core"),
        (len(machine.cpus), "CPU"),
    ]
    parts = [f"{count} {noun}{'s' * (count > 1)}" for count, noun in counts]
    parts.append("SMT" if len(machine.cpus) > len(cores) else "no SMT")
    kinds = sorted({cpu.capacity for cpu in machine.cpus}, reverse=True)
    if len(kinds) > 1:
        parts.append("kinds of core at " + ", ".join(f"{100 * kind:.0f} %" for kind in kinds))
    parts.append("no quota" if machine.quota is None else f"quota {machine.quota:g} CPUs")
    if len(machine.allowed) < len(machine.cpus):
        parts.append(f"allowed: {cpu_ranges(machine.allowed)}")
    if machine.offline:
        parts.append(f"offline: {cpu_ranges(machine.offline)}")
    return "machine: " + ", ".join(parts)


def _marks(machine: Machine, plan: CpuPlan) -> dict[int, str]:
    marks = {cpu.id: "." if cpu.id in machine.allowed else "x" for cpu in machine.cpus}
    marks |= dict.fromkeys(plan.reserved, "r")
    for index, worker in enumerate(plan.workers):
        marks |= dict.fromkeys(worker.cpus, f"w{index}")
    return marks


def _draw_socket(machine: Machine, socket: int, marks: dict[int, str]) -> Iterator[str]:
    """Yield one line or more for each cache of a socket; SMT siblings stand in one pair of brackets."""
    yield f"socket {socket}"
    cpus = [cpu for cpu in machine.cpus if cpu.socket == socket]
    for l3 in dict.fromkeys(cpu.l3 for cpu in cpus):
        group = [cpu for cpu in cpus if cpu.l3 == l3]
        label = f"  node {group[0].node}, cache of {cpu_ranges([cpu.id for cpu in group])}: "
        line = label
        for core in _cores(group):
            cell = "[" + " ".join(f"{cpu.id}:{marks[cpu.id]}" for cpu in core) + "]"
            if len(line) + len(cell) > WIDTH:
                yield line
                line = " " * len(label)
            line += cell
        yield line


def _cores(cpus: list[Cpu]) -> list[list[Cpu]]:
    found: dict[int, list[Cpu]] = {}
    for cpu in cpus:
        found.setdefault(cpu.core, []).append(cpu)
    return list(found.values())
