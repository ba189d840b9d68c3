"""The threads drill of a server of another make: requests by its API, and its processes instead of GET /workers."""

from __future__ import annotations

import http.client
import time

from tts_service import procfs
from tts_service.bench.apis import APIS, wanted_of
from tts_service.bench.mix import REQUEST_TIMEOUT_S, Exchange, Kind
from tts_service.bench.readings import IDLE_TIMEOUT_S, Reading, WorkerReading
from tts_service.bench.server_usage import ServerTree
from tts_service.bench.speaker import SpeechFailed, Wanted
from tts_service.bench.target import Server
from tts_service.errors import Unavailable, UsageError

# Less CPU time than this in a look is no work: a clock tick (proc(5)).
STILL_S = 0.1
STILL_CPU_S = 0.011


class PeerDrill:
    """Makes connections and reads the server after each, as if all of its processes were one worker."""

    def __init__(self, server: Server, base: Wanted) -> None:
        if not server.pid:
            raise UsageError(
                f"the server at {server.url} has no GET /workers, so its threads are counted in its processes: name "
                "the first of them with --pid"
            )
        self._server = server
        self._wanted = wanted_of(server.api, "wav" if "wav" in APIS[server.api].formats else None, None, base)
        self._tree = ServerTree([server.pid])
        self._n_switches = 0
        self._last_switches = procfs.voluntary_switches(server.pid)
        self._busy_s = self._audio_s = 0.0
        self._cpu_before_s = self._tree.cpu_s()

    def carry_out(self, exchange: Exchange) -> str:
        """Make a request on a fresh connection; return what was wrong with its answer, "" where nothing was.

        What would be invalid for our API is a whole request here: what others refuse is not known.
        """
        text = exchange.body.get("input")
        speaker = APIS[self._server.api].make(self._server.url, self._wanted, REQUEST_TIMEOUT_S)
        started_s = time.monotonic()
        try:
            for seconds in speaker.speak(text if isinstance(text, str) else "Good morning to all."):
                self._audio_s += seconds
                if exchange.kind is Kind.ABORTED:
                    return ""
        except SpeechFailed as error:
            return str(error)
        except (http.client.HTTPException, OSError) as error:
            return f"the answer broke off: {error!r}"
        finally:
            speaker.close()
            self._settle()
            self._busy_s += time.monotonic() - started_s - STILL_S
        return ""

    def read(self) -> Reading:
        """Return a reading; the switches are those of threads that live."""
        switches = sum(map(procfs.voluntary_switches, self._tree.pids()))
        # What a thread has counted is gone with it.
        self._n_switches += max(0, switches - self._last_switches)
        self._last_switches = switches
        worker = WorkerReading(
            index=0,
            pid=self._server.pid,
            live_threads=self._tree.read().n_threads,
            voluntary_switches=self._n_switches,
            busy_seconds=self._busy_s,
            cpu_seconds=self._tree.cpu_s() - self._cpu_before_s,
            audio_seconds=self._audio_s,
        )
        return Reading([worker])

    def _settle(self) -> None:
        """Wait until the server has no work left, as after an aborted request."""
        deadline = time.monotonic() + IDLE_TIMEOUT_S
        before_s = self._tree.cpu_s()
        while True:
            time.sleep(STILL_S)
            now_s = self._tree.cpu_s()
            if now_s - before_s <= STILL_CPU_S:
                return
            if time.monotonic() > deadline:
                raise Unavailable(f"the server at {self._server.url} is still at work after {IDLE_TIMEOUT_S:g} s")
            before_s = now_s
