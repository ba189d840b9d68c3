"""The bad server's synthesis: an OpenMP library, compiled here, which runs on its caller's thread, and its counters.

The speech is a sine; the work behind it is real, and in proportion to its length.
"""

import ctypes
import math
import os
import resource
import shutil
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RATE_HZ = 24_000
SAMPLES_PER_CHARACTER = 1_440  # 0.06 s
SEGMENT_SAMPLES = RATE_HZ  # synthesized in one call, at most
BYTES_PER_SAMPLE = 2

# libgomp counts threads against the CPUs it may use: the process keeps to two, whatever the machine has.
N_CPUS = 2
# On two free CPUs a second of audio takes about 0.02 s in healthy teams, and five times that in teams that sleep.
REGIONS_PER_AUDIO_S = 20
BARRIERS_PER_REGION = 160
STEPS_PER_BARRIER = 4_000

COMPILE_TIMEOUT_S = 60.0
SINE_PERIOD_SAMPLES = 100  # 240 Hz
SINE_AMPLITUDE = 8_000  # of 32767


class Synthesizer:
    """The library and the counters of its use; any thread may call, one call runs at a time."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._run = library.synthesize
        self._run.argtypes = [ctypes.c_long] * 3
        self._run.restype = ctypes.c_double
        self._lock = threading.Lock()
        self._active = 0
        self._busy_s = self._cpu_s = 0.0
        self._n_segments = self._n_samples = 0

    def segments(self, n_samples: int) -> Iterator[bytes]:
        """Yield `n_samples` of speech as s16 mono at `RATE_HZ`, in pieces of at most `SEGMENT_SAMPLES`."""
        for start in range(0, n_samples, SEGMENT_SAMPLES):
            size = min(SEGMENT_SAMPLES, n_samples - start)
            self._synthesize(size)
            yield _sine(start, size)

    def _synthesize(self, n_samples: int) -> None:
        """Run the library on the calling thread, which from then on owns a team of OpenMP threads until it ends."""
        n_regions = max(1, REGIONS_PER_AUDIO_S * n_samples // RATE_HZ)
        with self._lock:
            self._active = 1
            wall_s, cpu_s = time.monotonic(), time.process_time()
            self._run(n_regions, BARRIERS_PER_REGION, STEPS_PER_BARRIER)
            self._busy_s += time.monotonic() - wall_s
            self._cpu_s += time.process_time() - cpu_s
            self._n_segments += 1
            self._n_samples += n_samples
            self._active = 0

    def worker(self) -> dict[str, Any]:
        """Return this process as a row of /workers; counters run since its start, times cover the library's calls.

        `live_threads` is every thread of the process. The main thread and the pool are there from the start, and the
        thread that answers is one of the pool: whatever is added later is OpenMP teams.
        """
        return {
            "index": 0,
            "pid": os.getpid(),
            "state": "ready",
            "engine": "openmp",
            "cpus": sorted(os.sched_getaffinity(0)),
            "threads": N_CPUS,
            "live_threads": len(os.listdir("/proc/self/task")),
            "voluntary_switches": resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw,
            "busy_seconds": self._busy_s,
            "cpu_seconds": self._cpu_s,
            "audio_seconds": self._n_samples / RATE_HZ,
            "segments_done": self._n_segments,
            "effective_cores": self._cpu_s / self._busy_s if self._busy_s else 0.0,
            "rss_bytes": int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize(),
            "restarts": 0,
            "slots": {"total": 1, "active": self._active},
        }


def load_library(directory: Path) -> ctypes.CDLL:
    """Compile team.c into `directory` and load it; keeps the whole process to `N_CPUS` CPUs first.

    Raises RuntimeError without gcc or with fewer CPUs, where the first team would collapse already.
    """
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < N_CPUS:
        raise RuntimeError(f"{N_CPUS} CPUs are needed, this process may use {len(cpus)}")
    gcc = shutil.which("gcc")
    if gcc is None:
        raise RuntimeError("gcc is needed to compile team.c")
    source, library = Path(__file__).with_name("team.c"), directory / "team.so"
    command = [gcc, "-O2", "-fopenmp", "-shared", "-fPIC", "-o", str(library), str(source)]
    subprocess.run(command, check=True, timeout=COMPILE_TIMEOUT_S)
    # libgomp reads both when it is loaded: the CPUs, and settings that would hide its default wait policy.
    os.sched_setaffinity(0, cpus[:N_CPUS])
    for name in [name for name in os.environ if name.startswith(("OMP_", "GOMP_"))]:
        del os.environ[name]
    return ctypes.CDLL(str(library))


def wav_header(n_samples: int) -> bytes:
    """Return the 44 bytes that go before `n_samples` of s16 mono at `RATE_HZ`."""
    size, rate, width = n_samples * BYTES_PER_SAMPLE, RATE_HZ, BYTES_PER_SAMPLE
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate, rate * width, width, 8 * width)
    return struct.pack("<4sI4s", b"RIFF", 36 + size, b"WAVE") + form + struct.pack("<4sI", b"data", size)


def _sine(start: int, n_samples: int) -> bytes:
    """Return samples `start` to `start + n_samples` of one endless sine, s16 mono."""
    angles = [2 * math.pi * i / SINE_PERIOD_SAMPLES for i in range(SINE_PERIOD_SAMPLES)]
    period = b"".join(struct.pack("<h", round(SINE_AMPLITUDE * math.sin(angle))) for angle in angles)
    at = start % SINE_PERIOD_SAMPLES * BYTES_PER_SAMPLE
    sine = period * (n_samples // SINE_PERIOD_SAMPLES + 2)
    return sine[at : at + n_samples * BYTES_PER_SAMPLE]
