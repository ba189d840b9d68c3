"""How much a server can do: characters of text a second, measured while all its workers are busy."""

from __future__ import annotations

from collections.abc import Sequence

from tts_service.bench.callers import Calls, Heard, call
from tts_service.bench.line_process import LineProcess
from tts_service.bench.one_liners import chars_of, closed_loop, one_liners
from tts_service.bench.readings import Reading
from tts_service.errors import Unavailable

# One is heard while the other is waited for; more find no faster server (measured), and may be refused.
CALLERS_PER_WORKER = 2
# Before it, for what a gateway loads with its first requests.
N_WARM_UP = 4
N_REQUESTS = 40


def measure_capacity(client: LineProcess, url: str, reading: Reading, n_requests: int = N_REQUESTS) -> float:
    """Return characters a second. Unavailable where a request fails.

    A server that refuses some of so many callers, since it is slow today, is asked again by one caller a worker; what
    it still refuses is no work that it has done.
    """
    call(client, Calls(url, one_liners(), closed_loop(N_WARM_UP, N_WARM_UP, seed=0)))
    heard = []
    for per_worker in (CALLERS_PER_WORKER, 1):
        n_callers = per_worker * max(1, reading.n_sharing)
        heard = call(client, Calls(url, one_liners(), closed_loop(n_callers, max(n_requests, 3 * n_callers), seed=0)))
        if not any(one.refused for one in heard):
            break
    for one in heard:
        if one.problem and not one.refused:
            raise Unavailable(f"a request failed while the capacity was measured: {one.problem}")
    return chars_per_s([one for one in heard if not one.refused])


def chars_per_s(heard: Sequence[Heard]) -> float:
    """Return the characters a second of what ended while every caller was at work, after the first of them had ended.

    At both ends of that time about as much is half done.
    """
    ends: dict[int, list[tuple[float, int]]] = {}
    for one in heard:
        ends.setdefault(one.caller, []).append((one.at_s + one.total_s, one.request))
    if not ends:
        raise Unavailable("every request was refused while the capacity was measured")
    first_s = min(end_s for found in ends.values() for end_s, _ in found)
    last_s = min(max(end_s for end_s, _ in found) for found in ends.values())
    done = [request for found in ends.values() for end_s, request in found if first_s < end_s <= last_s]
    if last_s <= first_s:
        raise Unavailable("too few requests to measure a capacity by")
    return chars_of(done) / (last_s - first_s)
