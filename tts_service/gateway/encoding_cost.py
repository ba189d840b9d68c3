"""What finishing and encoding a second of audio costs, learned from the answers of this process, by format.

Shared by its request threads.
"""

from __future__ import annotations

import threading

from tts_service.gateway.utterance import Utterance

# Weight of the newest answer in the running means.
_MEAN_WEIGHT = 0.1
# Of less audio, the set-up of an encoder would be most of the cost.
MIN_AUDIO_S = 0.5

Kind = tuple[str, bool]


class EncodingCost:
    """CPU seconds a second of audio, by format and by whether the tempo is changed; 0 of what has never been asked for.

    CPU and not wall time: a busy machine makes encoding slow, and not more work.
    """

    def __init__(self) -> None:
        self._means: dict[Kind, float] = {}
        self._n_seen: dict[Kind, int] = {}
        self._lock = threading.Lock()

    def of(self, utterance: Utterance) -> float:
        """Return what a second of this request's audio is expected to cost."""
        return self._means.get(_kind(utterance), 0.0)

    def learn(self, utterance: Utterance, cpu_s: float, audio_s: float) -> None:
        """Take an answer, or the part of it that was made, into the mean of its kind."""
        if audio_s < MIN_AUDIO_S:
            return
        kind = _kind(utterance)
        with self._lock:
            self._n_seen[kind] = n_seen = self._n_seen.get(kind, 0) + 1
            mean = self._means.get(kind, 0.0)
            # The first ones count for more, as there is nothing else yet.
            self._means[kind] = mean + max(_MEAN_WEIGHT, 1 / n_seen) * (cpu_s / audio_s - mean)


def _kind(utterance: Utterance) -> Kind:
    return utterance.response_format, utterance.stretch != 1.0
