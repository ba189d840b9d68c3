"""Rounds of requests to one server, and what it used for them: of ours in detail, of any other by its processes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tts_service.bench.apis import APIS, check_answers
from tts_service.bench.client_process import Load, LoadReport
from tts_service.bench.cpu_reading import LocalCpu, LocalProcesses
from tts_service.bench.line_process import LineProcess
from tts_service.bench.readings import Reading, has_workers, read_idle
from tts_service.bench.server_usage import ServerTree
from tts_service.bench.speaker import Wanted
from tts_service.bench.target import Server
from tts_service.bench.thread_verdict import Work
from tts_service.bench.throughput_figures import Round
from tts_service.errors import UsageError

ROUND_TIMEOUT_S = 3600.0
# Before the first round: what a gateway loads with its first requests is not what is measured.
N_WARM_UP = 8


class Meter:
    """Makes rounds of requests and reads the server before and after each. Used by the main thread."""

    def __init__(self, server: Server, client: LineProcess) -> None:
        self._server = server
        self._client = client
        self._is_ours = is_ours(server)
        self._processes = LocalProcesses.of(server, read_idle(server.url)) if self._is_ours else None
        roots = [server.pid] if server.pid else self._processes.roots if self._processes else []
        self._tree = ServerTree(roots) if roots else None

    def warm_up(self, wanted: Wanted, texts: Sequence[str]) -> None:
        """Make a few requests that do not count."""
        self.measure(wanted, texts[:N_WARM_UP], concurrency=2)

    def measure(self, wanted: Wanted, texts: Sequence[str], concurrency: int, *, kept: bool = True) -> Round:
        """Make a request for each text, so many at a time; return what was seen."""
        self._check(wanted)
        before, cpu_before, tree_before = self._reading(), self._cpu(), self._tree and self._tree.read()
        self._client.send(Load(self._server.url, list(texts), wanted, concurrency, kept, self._server.api))
        report = self._client.receive(LoadReport, ROUND_TIMEOUT_S)
        tree_after = self._tree and self._tree.read()
        after, cpu_after = self._reading(), self._cpu()
        work = work_between(before, after) if before and after else []
        heard_s = sum(timing.audio_s for timing in report.timings)
        return Round(
            concurrency=concurrency,
            wall_s=report.ended_s - report.started_s,
            audio_s=heard_s or sum(one.audio_s for one in work),
            engine_cpu_s=sum(one.cpu_s for one in work) if work else None,
            client_cpu_s=report.cpu_s,
            timings=report.timings,
            local_cpu=cpu_after.since(cpu_before) if cpu_before and cpu_after else None,
            usage=tree_after.since(tree_before) if tree_before and tree_after else None,
        )

    def _check(self, wanted: Wanted) -> None:
        if not self._is_ours and wanted.response_format not in ("pcm", "wav"):
            others = " or ".join(name for name in APIS[self._server.api].formats if name in ("pcm", "wav"))
            raise UsageError(
                f"--format {wanted.response_format}: the audio of a server without GET /workers is counted in its "
                f"answers, which can be done with {others}"
            )

    def _reading(self) -> Reading | None:
        return read_idle(self._server.url) if self._is_ours else None

    def _cpu(self) -> LocalCpu | None:
        return self._processes.read() if self._processes else None


def is_ours(server: Server) -> bool:
    """Return True where a server tells about its workers. Unavailable where none answers."""
    check_answers(server.api, server.url)
    return server.api == "openai" and has_workers(server.url)


def work_between(before: Reading, after: Reading) -> list[Work]:
    """Return what each worker did; one that was restarted meanwhile counts from its start."""
    found = []
    for worker in after.workers:
        earlier = before.worker(worker.index)
        fresh = msgspec.structs.replace(
            worker, voluntary_switches=0, busy_seconds=0.0, cpu_seconds=0.0, audio_seconds=0.0
        )
        found.append(Work.between(earlier if earlier and earlier.pid == worker.pid else fresh, worker))
    return found
