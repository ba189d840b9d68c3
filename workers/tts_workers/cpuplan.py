"""Which CPUs each synthesis process gets. Pure: an even split of the allowed CPUs with equal thread budgets."""

from __future__ import annotations

from dataclasses import dataclass

from tts_service.errors import CannotStart, SettingsError


@dataclass(frozen=True)
class PoolDemand:
    """What one pool asks for."""

    name: str
    n_workers: int
    """0 for as many as fit."""
    n_threads: int
    """Intra-op threads of each worker, at least 1."""


@dataclass(frozen=True)
class WorkerCpus:
    """The CPU set of one worker, and its thread budget."""

    pool: str
    cpus: list[int]
    n_threads: int


def parse_cpu_list(text: str) -> set[int]:
    """Return the CPUs that "0-3,8" names; SettingsError where it names none in a way that can be read."""
    cpus: set[int] = set()
    for part in filter(None, text.replace(" ", "").split(",")):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()) or int(last or first) < int(first):
            raise SettingsError(f'workers.cpus = {text!r}: expected a list such as "0-3,8"')
        cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def allowed_cpus(affinity: set[int], wanted: str) -> list[int]:
    """Return the CPUs to use: those of the process's affinity that the settings name, or all of them."""
    cpus = affinity & parse_cpu_list(wanted) if wanted.strip() else affinity
    if not cpus:
        raise CannotStart(
            f"workers.cpus = {wanted!r}: none of them is among the CPUs this process may use, {sorted(affinity)}"
        )
    return sorted(cpus)


def split(cpus: list[int], demands: list[PoolDemand]) -> list[WorkerCpus]:
    """Give every worker its own `n_threads` CPUs.

    Pools that leave their number of workers open share what the others leave. CannotStart where the workers would
    need more CPUs than there are: two threads on one CPU make both slow.
    """
    fixed = sum(demand.n_workers * demand.n_threads for demand in demands)
    open_demands = [demand for demand in demands if demand.n_workers == 0]
    share = (len(cpus) - fixed) // len(open_demands) if open_demands else 0
    counts = {demand.name: demand.n_workers or max(1, min(share, len(cpus)) // demand.n_threads) for demand in demands}
    needed = sum(counts[demand.name] * demand.n_threads for demand in demands)
    if needed > len(cpus):
        asked = ", ".join(f"{d.name}: {counts[d.name]} workers × {d.n_threads} threads" for d in demands)
        raise CannotStart(f"{asked} need {needed} CPUs, but there are {len(cpus)} ({_ranges(cpus)}); ask for fewer")
    plan: list[WorkerCpus] = []
    free = list(cpus)
    for demand in demands:
        for _ in range(counts[demand.name]):
            plan.append(WorkerCpus(demand.name, free[: demand.n_threads], demand.n_threads))
            free = free[demand.n_threads :]
    return plan


def _ranges(cpus: list[int]) -> str:
    """Return [0, 1, 2, 8] as "0-2,8"."""
    parts: list[list[int]] = []
    for cpu in cpus:
        if parts and cpu == parts[-1][-1] + 1:
            parts[-1].append(cpu)
        else:
            parts.append([cpu])
    return ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


describe_cpus = _ranges
