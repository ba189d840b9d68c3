"""The CPU plan: which CPUs each synthesis process gets, and how many threads. Pure: a machine in, a plan out.

Rules: a thread gets a physical core of its own, faster kinds of core first; a worker's cores share a cache if any cache
has room; all workers of a pool have the same number of threads; a control group's quota counts like missing cores.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tts_service.errors import CannotStart
from tts_workers.machine import Core, Machine, cpu_ranges

# Machines with fewer usable cores have none to spare for the gateway; it uses what the workers leave.
RESERVE_FROM_CORES = 8
CORES_PER_RESERVED = 16
AUTO = -1


@dataclass(frozen=True)
class PoolDemand:
    """What one pool asks for."""

    name: str
    n_workers: int
    """0 for as many as fit."""
    n_threads: int
    """Intra-op threads of each worker, at least 1."""
    weight: float = 1.0
    """Share of the cores among the pools that leave their number of workers open."""


@dataclass(frozen=True)
class WorkerCpus:
    """The CPU set of one worker, and its thread budget."""

    pool: str
    cpus: list[int]
    n_threads: int


@dataclass
class CpuPlan:
    """Where everything runs, and what the operator should know about it."""

    workers: list[WorkerCpus] = field(default_factory=list)
    wide: list[WorkerCpus] = field(default_factory=list)
    """Wide workers, on the CPUs of their pools' other workers."""
    reserved: list[int] = field(default_factory=list)
    """CPUs kept free of workers, for the gateway and the system."""
    unused: list[int] = field(default_factory=list)
    """Further CPUs that no worker is pinned to: SMT siblings, and cores that were left over."""
    warnings: list[str] = field(default_factory=list)


def make_cpu_plan(machine: Machine, demands: list[PoolDemand], reserve: int = AUTO) -> CpuPlan:
    """Return the plan; CannotStart, with the reason, where the demands need more than there is."""
    if not machine.allowed:
        raise CannotStart("there is no CPU that this process may use: its affinity and its cpuset have none in common")
    plan = CpuPlan(warnings=_quota_warnings(machine))
    cores = machine.cores
    usable = _under_quota(cores, machine.quota)
    counts, reserved = _share(machine, usable, demands, reserve)
    needed = sum(counts[demand.name] * demand.n_threads for demand in demands)
    _refuse_if_too_much(machine, demands, counts, needed)
    free = usable[: len(usable) - reserved]
    if needed > len(free):
        free = _with_siblings(cores, needed, plan)
    _place(plan, free, demands, counts)
    pinned = {cpu for worker in plan.workers for cpu in worker.cpus}
    spare = [core for core in reversed(cores) if not pinned & set(core.cpus)]
    plan.reserved = sorted(cpu for core in spare[:reserved] for cpu in core.cpus)
    plan.unused = sorted(machine.allowed - pinned - set(plan.reserved))
    return plan


def wide_worker(plan: CpuPlan, pool: str) -> WorkerCpus:
    """Return one more worker for `pool` that has all the CPUs of the pool's workers, a thread on each."""
    cpus = sorted(cpu for worker in plan.workers if worker.pool == pool for cpu in worker.cpus)
    return WorkerCpus(pool, cpus, len(cpus))


def _under_quota(cores: list[Core], quota: float | None) -> list[Core]:
    """Return as many cores as the quota can keep busy, the fastest ones, at least one."""
    return cores if quota is None else cores[: max(1, int(quota))]


def _share(machine: Machine, usable: list[Core], demands: list[PoolDemand], reserve: int) -> tuple[dict[str, int], int]:
    """Return each pool's number of workers, and how many cores are kept free."""
    fixed = sum(demand.n_workers * demand.n_threads for demand in demands)
    open_demands = [demand for demand in demands if demand.n_workers == 0]
    reserved = max(0, min(_reserved(len(usable), reserve), len(usable) - max(1, fixed)))
    free = usable[: len(usable) - reserved]
    counts = {demand.name: demand.n_workers or 1 for demand in demands}
    left = len(free) - fixed - sum(demand.n_threads for demand in open_demands)
    # One worker at a time to the pool that is furthest below its share, as long as one more fits.
    while growing := [d for d in open_demands if d.n_threads <= left and counts[d.name] < _fitting(free, d.n_threads)]:
        neediest = min(growing, key=lambda demand: counts[demand.name] * demand.n_threads / demand.weight)
        counts[neediest.name] += 1
        left -= neediest.n_threads
    return counts, reserved


def _reserved(n_cores: int, wanted: int) -> int:
    if wanted != AUTO:
        return wanted
    return 0 if n_cores < RESERVE_FROM_CORES else max(1, n_cores // CORES_PER_RESERVED)


def _fitting(cores: list[Core], n_threads: int) -> int:
    """Return how many workers of `n_threads` fit without spanning two caches or two kinds of core; at least 1."""
    return max(1, sum(len(domain) // n_threads for domain in _domains(cores)))


def _domains(cores: Iterable[Core]) -> list[list[Core]]:
    """Return the cores by shared cache and kind, in the order in which they are to be used."""
    found: dict[tuple[float, int], list[Core]] = {}
    for core in cores:
        found.setdefault((core.capacity, core.l3), []).append(core)
    return list(found.values())


def _refuse_if_too_much(machine: Machine, demands: list[PoolDemand], counts: dict[str, int], needed: int) -> None:
    asked = ", ".join(f"{demand.name}: {counts[demand.name]} × {demand.n_threads} threads" for demand in demands)
    if needed > len(machine.allowed):
        raise CannotStart(
            f"{asked}: need {needed} CPUs, but this process may use {len(machine.allowed)} "
            f"({cpu_ranges(machine.allowed)}); more threads than CPUs make all of them slower, ask for fewer"
        )
    if machine.quota is not None and needed > max(1.0, machine.quota):
        raise CannotStart(
            f"{asked}: need {needed} CPUs' worth of time, but the control group's quota is {machine.quota:g}; ask for "
            "fewer, or raise the quota"
        )


def _with_siblings(cores: list[Core], needed: int, plan: CpuPlan) -> list[Core]:
    """Return cores that go around again by their SMT siblings, when there are fewer cores than threads."""
    n_cores = len(cores)
    units = list(cores)
    level = 1
    while len(units) < needed:
        units += [
            Core(core.cpus[level : level + 1], core.l3, core.node, core.socket, core.capacity)
            for core in cores
            if len(core.cpus) > level
        ]
        level += 1
    if needed > n_cores:
        plan.warnings.append(
            f"{needed} threads on {n_cores} physical cores: SMT siblings share a core, expect about 1.2 times one "
            "thread's speed from two"
        )
    return units


def _place(plan: CpuPlan, free: list[Core], demands: list[PoolDemand], counts: dict[str, int]) -> None:
    """Pin the workers, each within one cache where one has room."""
    for demand in demands:
        kinds = set()
        for _ in range(counts[demand.name]):
            chosen = _choose(free, demand.n_threads)
            free = [core for core in free if not any(core is taken for taken in chosen)]
            kinds.add(min(core.capacity for core in chosen))
            if len({core.l3 for core in chosen}) > 1:
                where = "NUMA nodes" if len({core.node for core in chosen}) > 1 else "caches"
                plan.warnings.append(f"a worker of {demand.name} spans several {where}: no single one has room for it")
            plan.workers.append(WorkerCpus(demand.name, sorted(core.cpus[0] for core in chosen), demand.n_threads))
        if len(kinds) > 1:
            plan.warnings.append(f"workers of {demand.name} are on kinds of core of different speed")


def _choose(free: list[Core], n: int) -> list[Core]:
    """Return `n` of the free cores: of one cache and kind, else of one NUMA node, else the first ones."""
    for domain in _domains(free):
        if len(domain) >= n:
            return domain[:n]
    for key in ("node", "socket"):
        for value in dict.fromkeys(getattr(core, key) for core in free):
            group = [core for core in free if getattr(core, key) == value]
            if len(group) >= n:
                return group[:n]
    return free[:n]


def _quota_warnings(machine: Machine) -> list[str]:
    quota = machine.quota
    if quota is None or quota >= len(machine.allowed):
        return []
    if quota < 1:
        return [f"the quota is {quota:g} of one CPU: the single worker is paused for part of every period"]
    warning = f"the quota is {quota:g} CPUs of {len(machine.allowed)}: workers get {int(quota)}"
    return [warning + (", the rest is the gateway's" if quota % 1 else "")]
