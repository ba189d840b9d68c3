"""Measures all servers side by side: started together, in turns, round after round. Used by the main thread."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import onnxruntime

from bench.measurements import OURS, Measurements, Shape
from bench.peers import PEERS, install, running, versions
from bench.untouched_loop import untouched_loop
from tts_service import __version__
from tts_service.bench.apis import APIS, wanted_of, whole_wav
from tts_service.bench.client_process import client_process
from tts_service.bench.meter import Meter
from tts_service.bench.raw_loop import RawLoop
from tts_service.bench.scenario import About, Progress, Step
from tts_service.bench.speaker import Wanted
from tts_service.bench.target import Target
from tts_service.bench.texts import PARAGRAPH, TEN_SECONDS, sentences
from tts_service.bench.threads import ThreadsDrill
from tts_service.bench.throughput_figures import RawRound, Round

# As the peers send it: without resampling.
NATIVE = Wanted(fields={"sample_rate": "native"})
N_LONG = 5
N_PARAGRAPHS = 2
N_CPUS = 2


@dataclass(frozen=True)
class Contender:
    """One server in the comparison."""

    meter: Meter
    whole: Wanted
    """How it is asked for a file."""
    stream: Wanted | None
    """How for a stream; None where it does not stream."""

    @classmethod
    def of(cls, meter: Meter, api: str, base: Wanted) -> Contender:
        """Return the contender with the requests that its API has."""
        streams = APIS[api].streamed in (None, True)
        return cls(meter, whole_wav(api, base), wanted_of(api, None, True, base) if streams else None)


class Comparison:
    """All servers and the raw loops, and what has been measured of them."""

    def __init__(self, work: Path, voices: Path, voice: str, peers: Sequence[str], shape: Shape) -> None:
        self._work = work
        self._voices = voices
        self._voice = voice
        self._peers = peers
        self._shape = shape
        self._texts = sentences(shape.n_requests)
        self._contenders: dict[str, Contender] = {}
        self.measured = Measurements(About.here(None), shape, voice, {})

    def run(self, progress: Progress, keep: Callable[[Measurements], None]) -> Measurements:
        """Install, start, measure, end; `keep` gets all that is there after each round."""
        pythons = self._install(progress)
        flags = {"engine": "piper", "models": str(self._voices), "workers": str(N_CPUS), "threads": "1"}
        target = Target(flags=flags)
        cache = {"XDG_CACHE_HOME": str(self._work / "cache")}
        cpus = sorted(os.sched_getaffinity(0))[:N_CPUS]
        with ExitStack() as stack:
            client = stack.enter_context(client_process())
            raw = stack.enter_context(untouched_loop(self._voices / f"{self._voice}.onnx", cpus))
            one = stack.enter_context(untouched_loop(self._voices / f"{self._voice}.onnx", cpus[:1]))
            ours = stack.enter_context(target.server(cache))
            self._contenders[OURS] = Contender.of(Meter(ours, client), "openai", NATIVE)
            for name, python in pythons.items():
                directory = self._work / "run" / name
                server = stack.enter_context(running(PEERS[name], python, self._voices, self._voice, directory))
                contender = Contender.of(Meter(server, client), server.api, Wanted())
                self._contenders[name] = contender if PEERS[name].streams else replace(contender, stream=None)
            self._measure(progress, raw, one, keep)
        drill = ThreadsDrill(self._shape.n_connections, 1, ("2x1",), 0.0)
        os.environ |= cache
        unshaped = Target(flags={name: value for name, value in flags.items() if name not in ("workers", "threads")})
        self.measured.threads.extend(drill.run(unshaped, progress).runs[0].verdicts)
        return self.measured

    def _install(self, progress: Progress) -> dict[str, Path]:
        step = progress.begin("install peers", len(self._peers))
        self.measured.versions[OURS] = f"tts-service {__version__}, onnxruntime {onnxruntime.__version__}"
        found = {}
        for name in self._peers:
            found[name] = install(PEERS[name], self._work / "peers" / name)
            self.measured.versions[name] = versions(found[name])
            step()
        return found

    def _measure(self, progress: Progress, raw: RawLoop, one: RawLoop, keep: Callable[[Measurements], None]) -> None:
        n = len(self._contenders)
        streams = [c for c in self._shape.concurrencies if c > 1]
        each = n * len(self._shape.concurrencies) + len(streams) + 3 * n
        step = progress.begin("compare", self._shape.n_rounds * each)
        for contender in self._contenders.values():
            contender.meter.warm_up(contender.whole, self._texts)
        for _ in range(self._shape.n_rounds):
            for concurrency in self._shape.concurrencies:
                self._all(self.measured.buffered, self._texts, concurrency, step)
                self.measured.raw.append(RawRound(raw.measure(self._texts)))
            for concurrency in streams:
                self._stream(self.measured.streams, self._texts, concurrency, step, only=OURS)
                self.measured.raw_streams.append(RawRound(raw.measure(self._texts)))
            self._all(self.measured.lone, sentences(len(set(self._texts))), 1, step)
            self._stream(self.measured.first_audio, [TEN_SECONDS] * N_LONG, 1, step)
            for _ in range(N_PARAGRAPHS):
                self._all(self.measured.paragraph, [PARAGRAPH], 1, lambda: None)
                self.measured.paragraph_alone_s.extend(report.wall_s for report in one.measure([PARAGRAPH]))
            for _ in self._contenders:
                step()
            keep(self.measured)

    def _all(self, into: dict[str, list[Round]], texts: Sequence[str], concurrency: int, step: Step) -> None:
        for name, contender in self._contenders.items():
            into.setdefault(name, []).append(contender.meter.measure(contender.whole, texts, concurrency))
            step()

    def _stream(
        self, into: dict[str, list[Round]], texts: Sequence[str], concurrency: int, step: Step, only: str = ""
    ) -> None:
        for name, contender in self._contenders.items():
            if only in ("", name):
                wanted = contender.stream or contender.whole
                into.setdefault(name, []).append(contender.meter.measure(wanted, texts, concurrency))
                step()


def joe_voice() -> tuple[Path, str]:
    """Return directory and name of the voice that the tests have."""
    from support.piper_voices import JOE, joe_directory

    return joe_directory(), JOE
