"""When a worker counts as hung, and how long to wait before it is started again. Pure."""

from __future__ import annotations

from tts_service.protocol import Phase
from tts_service.settings import WorkerSettings

# Waiting for a CPU is not hanging, but nobody waits for ever: no phase may take this many times its limit.
STARVED_FACTOR = 10.0
FIRST_BACKOFF_S = 0.5


def limit_s(phase: Phase, settings: WorkerSettings) -> float:
    """Return how long a worker may be silent in a phase."""
    limits = {
        Phase.START: settings.load_timeout_s,
        Phase.LOAD: settings.load_timeout_s,
        Phase.WARM_UP: settings.warm_up_timeout_s,
        Phase.IDLE: max(settings.step_timeout_s, 5 * settings.heartbeat_s),
        Phase.PREPARE: settings.prepare_timeout_s,
        Phase.STEP: settings.step_timeout_s,
    }
    return limits[phase]


def is_hung(silent_s: float, waited_for_cpu_s: float, limit: float) -> bool:
    """Return True when a worker has been silent for longer than its limit, not counting its waits for a CPU."""
    return silent_s - waited_for_cpu_s > limit or silent_s > STARVED_FACTOR * limit


def backoff_s(fruitless_deaths: int, longest_s: float) -> float:
    """Return the wait before the next start: none after a life that finished a segment, then doubling."""
    if fruitless_deaths == 0:
        return 0.0
    return min(longest_s, FIRST_BACKOFF_S * 2.0 ** min(fruitless_deaths - 1, 30))
