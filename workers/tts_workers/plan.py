"""From settings to the workers of all pools: who they are, where they run, what they load. Pure."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from tts_service.errors import CannotStart, SettingsError
from tts_service.runtime_dir import RuntimeDir
from tts_service.settings import PoolSettings, Settings
from tts_workers.cpuplan import AUTO, CpuPlan, PoolDemand, WorkerCpus, make_cpu_plan, wide_worker
from tts_workers.engines import EngineOptions, engine_class
from tts_workers.jobqueue import JobQueue
from tts_workers.link import WorkerLink
from tts_workers.machine import Machine, cpu_ranges, read_cpu_list
from tts_workers.pool import Pool
from tts_workers.spec import WorkerSpec

RANDOM_SEED = -1


@dataclass(frozen=True)
class Plan:
    """The workers' half as it will be started."""

    cpu_plan: CpuPlan
    specs: list[WorkerSpec]
    """One a worker, in the order of their indices; the wide ones come last."""
    pools: dict[str, Pool]


def make_plan(settings: Settings, runtime_dir: RuntimeDir, machine: Machine) -> Plan:
    """Return the plan for this machine. SettingsError or CannotStart where there can be none."""
    for name, pool_settings in settings.pools.items():
        check_engine(name, pool_settings)
    demands = [
        PoolDemand(name, pool.workers, pool.threads or engine_class(pool.engine).preferred_threads, pool.weight)
        for name, pool in settings.pools.items()
    ]
    reserve = settings.workers.reserve_cpus
    cpu_plan = make_cpu_plan(
        restrict(machine, settings.workers.cpus), demands, AUTO if reserve == "auto" else int(reserve)
    )
    pools = {name: pool_of(name, pool) for name, pool in settings.pools.items()}
    specs = []
    for index, worker in enumerate(cpu_plan.workers):
        specs.append(_spec(index, worker, settings, runtime_dir))
        link = WorkerLink(index, worker.pool, settings.pools[worker.pool].slots, n_threads=worker.n_threads)
        pools[worker.pool].workers.append(link)
    _add_wide_workers(cpu_plan, settings)
    for index, worker in enumerate(cpu_plan.wide, len(specs)):
        specs.append(msgspec.structs.replace(_spec(index, worker, settings, runtime_dir), wide=True, n_slots=1))
        pools[worker.pool].wide = WorkerLink(index, worker.pool, 1, n_threads=worker.n_threads)
    return Plan(cpu_plan, specs, pools)


def _add_wide_workers(cpu_plan: CpuPlan, settings: Settings) -> None:
    """Plan a wide worker for each pool that is to have one, where there is anything to widen."""
    for name, pool in settings.pools.items():
        if not wants_wide(name, pool):
            continue
        if sum(worker.pool == name for worker in cpu_plan.workers) > 1:
            cpu_plan.wide.append(wide_worker(cpu_plan, name))
        elif pool.wide is True:
            cpu_plan.warnings.append(f"{name} gets no wide worker: its only worker has all of the pool's CPUs")


def wants_wide(name: str, pool: PoolSettings) -> bool:
    """Return whether the pool is to have a wide worker. SettingsError where one is asked for that cannot be."""
    engine = engine_class(pool.engine)
    if pool.wide == "auto":
        return engine.thread_invariant and engine.divides_work
    if pool.wide and not engine.thread_invariant:
        raise SettingsError(
            f"pools.{name}.wide = true: the samples of engine {pool.engine} depend on the number of threads; "
            'use "auto" or false'
        )
    return pool.wide


def restrict(machine: Machine, wanted: str) -> Machine:
    """Return the machine with only those of its CPUs allowed that the setting names, or all of them."""
    if not wanted.strip():
        return machine
    try:
        named = frozenset(read_cpu_list(wanted))
    except ValueError:
        raise SettingsError(f'workers.cpus = {wanted!r}: expected a list such as "0-3,8"') from None
    if not named & machine.allowed:
        allowed = cpu_ranges(machine.allowed)
        raise CannotStart(f"workers.cpus = {wanted!r}: none of them is among the CPUs this process may use, {allowed}")
    return replace(machine, allowed=named & machine.allowed)


def check_engine(name: str, pool: PoolSettings) -> None:
    """Raise SettingsError where the pool's engine cannot work with the pool's options."""
    models = Path(pool.models) if pool.models else None
    if models is not None and not models.is_dir():
        raise SettingsError(f"pools.{name}.models = {pool.models!r}: expected a directory")
    engine_class(pool.engine).check(EngineOptions(models, pool.threads or 1, pool.options))


def pool_of(name: str, settings: PoolSettings) -> Pool:
    """Return an empty pool with these settings."""
    seed = RANDOM_SEED if isinstance(settings.default_seed, str) else settings.default_seed
    queue = JobQueue(settings.queue_limit, settings.order)
    return Pool(name, settings.default_voice, seed, queue, settings.urgent_s, settings.max_wait_s)


def _spec(index: int, worker: WorkerCpus, settings: Settings, runtime_dir: RuntimeDir) -> WorkerSpec:
    pool = settings.pools[worker.pool]
    return WorkerSpec(
        index=index,
        incarnation=0,
        parent_pid=os.getpid(),
        endpoint=runtime_dir.worker_endpoint,
        pool=worker.pool,
        engine=pool.engine,
        models=pool.models,
        options=pool.options,
        cpus=worker.cpus,
        n_threads=worker.n_threads,
        n_slots=pool.slots,
        heartbeat_s=settings.workers.heartbeat_s,
        log_level=settings.service.log_level,
    )
