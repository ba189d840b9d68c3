"""From settings to the workers of all pools: who they are, where they run, what they load. Pure."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tts_service.errors import SettingsError
from tts_service.runtime_dir import RuntimeDir
from tts_service.settings import PoolSettings, Settings
from tts_workers.cpuplan import PoolDemand, allowed_cpus, split
from tts_workers.engines import EngineOptions, engine_class
from tts_workers.jobqueue import JobQueue
from tts_workers.pool import Pool, WorkerLink
from tts_workers.spec import WorkerSpec

RANDOM_SEED = -1


@dataclass(frozen=True)
class Plan:
    """The workers' half as it will be started."""

    specs: list[WorkerSpec]
    """One a worker, in the order of their indices."""
    pools: dict[str, Pool]


def make_plan(settings: Settings, runtime_dir: RuntimeDir, affinity: set[int]) -> Plan:
    """Return the plan for a process that may use the CPUs in `affinity`. SettingsError or CannotStart."""
    for name, pool_settings in settings.pools.items():
        check_engine(name, pool_settings)
    demands = [PoolDemand(name, pool.workers, pool.threads or 1) for name, pool in settings.pools.items()]
    placed = split(allowed_cpus(affinity, settings.workers.cpus), demands)
    pools = {name: _pool(name, pool) for name, pool in settings.pools.items()}
    specs = []
    for index, worker in enumerate(placed):
        pool_settings = settings.pools[worker.pool]
        specs.append(_spec(index, worker.pool, pool_settings, worker.cpus, worker.n_threads, settings, runtime_dir))
        pools[worker.pool].workers.append(WorkerLink(index, worker.pool, pool_settings.slots))
    return Plan(specs, pools)


def check_engine(name: str, pool: PoolSettings) -> None:
    """Raise SettingsError where the pool's engine cannot work with the pool's options."""
    models = Path(pool.models) if pool.models else None
    if models is not None and not models.is_dir():
        raise SettingsError(f"pools.{name}.models = {pool.models!r}: expected a directory")
    engine_class(pool.engine).check(EngineOptions(models, pool.threads or 1, pool.options))


def _pool(name: str, settings: PoolSettings) -> Pool:
    seed = RANDOM_SEED if isinstance(settings.default_seed, str) else settings.default_seed
    return Pool(name, settings.default_voice, seed, JobQueue(settings.queue_limit))


def _spec(
    index: int,
    pool: str,
    settings: PoolSettings,
    cpus: list[int],
    n_threads: int,
    all_settings: Settings,
    runtime_dir: RuntimeDir,
) -> WorkerSpec:
    return WorkerSpec(
        index=index,
        incarnation=0,
        parent_pid=os.getpid(),
        endpoint=runtime_dir.worker_endpoint,
        pool=pool,
        engine=settings.engine,
        models=settings.models,
        options=settings.options,
        cpus=cpus,
        n_threads=n_threads,
        n_slots=settings.slots,
        heartbeat_s=all_settings.workers.heartbeat_s,
        log_level=all_settings.service.log_level,
    )
