"""`python -m bench.untouched_loop PARENT CPU MODEL`: a Piper voice's own graph in plain onnxruntime, on one CPU.

One thread, no server, text to float samples. What such processes make together is the limit that servers are held to.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tts_service.bench.line_process import LineProcess, Ready, serve_lines
from tts_service.bench.raw_loop import LOAD_TIMEOUT_S, RawLoad, RawLoop, RawReport
from tts_service.bench.texts import sentences

N_WARM_UP = 8


@contextmanager
def untouched_loop(model: Path, cpus: Sequence[int]) -> Iterator[RawLoop]:
    """Give a process for each of these CPUs."""
    path = os.pathsep.join((str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")))
    environment = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", "ORT_DISABLE_TELEMETRY": "1"}
    with ExitStack() as stack:
        processes = [
            stack.enter_context(LineProcess("bench.untouched_loop", [str(cpu), str(model)], environment))
            for cpu in cpus
        ]
        for process in processes:
            process.receive(Ready, LOAD_TIMEOUT_S)
        yield RawLoop(processes)


def _load() -> Callable[[RawLoad], RawReport]:
    import onnxruntime
    from piper import PiperVoice
    from piper.config import PiperConfig

    model = Path(sys.argv[3])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    config = PiperConfig.from_dict(json.loads(Path(f"{model}.json").read_text(encoding="utf-8")))
    voice = PiperVoice(session=session, config=config)

    def samples(text: str) -> int:
        found = 0
        for phonemes in voice.phonemize(text):
            made = voice.phoneme_ids_to_audio(voice.phonemes_to_ids(phonemes))
            found += len(made[0] if isinstance(made, tuple) else made)
        return found

    def run(load: RawLoad) -> RawReport:
        started_s, cpu_s = time.monotonic(), time.process_time()
        audio_s = sum(map(samples, load.texts)) / config.sample_rate
        return RawReport(audio_s, time.monotonic() - started_s, time.process_time() - cpu_s)

    run(RawLoad(sentences(N_WARM_UP)))
    return run


if __name__ == "__main__":
    # Before numpy and onnxruntime count CPUs.
    os.sched_setaffinity(0, {int(sys.argv[2])})
    serve_lines(RawLoad, _load)
