"""`python -m tts_service.bench.raw_loop PARENT SPEC`: an engine driven directly, with no server around it.

What such processes make together, one on the CPUs of each worker, is the most that a server of the same shape could.
The parent's side is here, too. Everything of the heavy side is imported where it is used: after the CPUs are set.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tts_service.bench.line_process import LineProcess, Ready, serve_lines
from tts_service.settings import Settings

if TYPE_CHECKING:
    from tts_workers.engines import Engine
    from tts_workers.spec import WorkerSpec

LOAD_TIMEOUT_S = 200.0
ROUND_TIMEOUT_S = 3600.0


class RawLoad(msgspec.Struct, frozen=True):
    """One round of one process."""

    texts: list[str]


class RawReport(msgspec.Struct, frozen=True):
    """What one process did in a round."""

    audio_s: float
    wall_s: float
    cpu_s: float


class RawLoop:
    """The processes; they wait between rounds."""

    def __init__(self, processes: list[LineProcess]) -> None:
        self._processes = processes

    def measure(self, texts: Sequence[str]) -> list[RawReport]:
        """Let the processes share the texts, all at once; return what each did."""
        n = len(self._processes)
        for start, process in enumerate(self._processes):
            process.send(RawLoad(list(texts[start::n])))
        return [process.receive(RawReport, ROUND_TIMEOUT_S) for process in self._processes]


@contextmanager
def raw_loop(settings: Settings) -> Iterator[RawLoop]:
    """Give a process with engine, CPUs and threads of each worker that a server with these settings would have."""
    from tts_workers.spec import worker_environment

    with ExitStack() as stack:
        processes = []
        for spec in worker_specs(settings):
            environment = worker_environment(dict(os.environ), spec.n_threads)
            arguments = [spec.to_json(), str(settings.gateway.segment_chars)]
            processes.append(stack.enter_context(LineProcess("tts_service.bench.raw_loop", arguments, environment)))
        for process in processes:
            process.receive(Ready, LOAD_TIMEOUT_S)
        yield RawLoop(processes)


def worker_specs(settings: Settings) -> list[WorkerSpec]:
    """Return the workers that share the work of a busy server: a wide one works only while the others have none."""
    from tts_service.runtime_dir import RuntimeDir
    from tts_workers.plan import make_plan
    from tts_workers.sysfs import read_machine

    plan = make_plan(settings, RuntimeDir(Path()), read_machine(set(os.sched_getaffinity(0))))
    return [spec for spec in plan.specs if not spec.wide]


def _answer(engine: Engine, segment_chars: int) -> Callable[[RawLoad], RawReport]:
    from tts_service.text.front_end import Reading, segments

    # As a gateway reads the same texts, which are in plain words.
    reading = Reading("en-US", min(segment_chars, engine.info.max_segment_chars))

    def run(load: RawLoad) -> RawReport:
        started_s, cpu_s = time.monotonic(), time.process_time()
        n_samples = 0
        for text in load.texts:
            n_samples += sum(_speak(engine, segment.text) for segment in segments(text, reading))
        audio_s = n_samples / engine.info.sample_rate_hz
        return RawReport(audio_s, time.monotonic() - started_s, time.process_time() - cpu_s)

    return run


def _speak(engine: Engine, text: str) -> int:
    """Synthesize one segment; return its number of samples."""
    from tts_workers.warm_up import synthesize, warm_up_job

    return synthesize(engine, msgspec.structs.replace(warm_up_job(engine, engine.info.default_voice), text=text))


def _load() -> Callable[[RawLoad], RawReport]:
    """Load the engine as a worker does."""
    from tts_workers.engines import engine_class
    from tts_workers.spec import WorkerSpec
    from tts_workers.warm_up import warm_up

    spec = WorkerSpec.from_json(sys.argv[2])
    engine = engine_class(spec.engine)(spec.engine_options)
    engine.load()
    warm_up(engine)
    return _answer(engine, int(sys.argv[3]))


if __name__ == "__main__":
    # Before numpy and onnxruntime count CPUs.
    os.sched_setaffinity(0, msgspec.json.decode(sys.argv[2])["cpus"])
    serve_lines(RawLoad, _load)
