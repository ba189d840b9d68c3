"""Faults that a text can order from the `tone` engine: [[crash]], [[hang at=1.5]], [[fail attempts=2]] and others."""

from __future__ import annotations

import os
import re
import signal
import time
from dataclasses import dataclass

import numpy as np

from tts_service.errors import Code, EngineBroken, RequestFailed
from tts_workers.engines.base import Samples

_ORDER = re.compile(r"\[\[(crash|exit|hang|spin|late|leak|fail|raise|nan)((?: [a-z]+=[0-9.]+)*)\]\]")
_FOR_EVER_S = 3600.0
_leaked: list[bytearray] = []


@dataclass(frozen=True)
class Fault:
    """One order found in a text."""

    kind: str
    at_s: float
    """Seconds of audio before it strikes; below 0: while the segment is prepared."""
    amount: float
    """Seconds for `late`, MiB for `leak`."""


class Faults:
    """The orders of one text that apply to one attempt."""

    def __init__(self, faults: list[Fault]) -> None:
        self._pending = faults

    @classmethod
    def parse(cls, text: str, attempt: int) -> Faults:
        """Read the orders in `text`; `attempts=N` in one limits it to the first N attempts."""
        found = []
        for kind, rest in _ORDER.findall(text):
            values = {name: float(value) for name, value in (pair.split("=") for pair in rest.split())}
            if attempt <= values.get("attempts", attempt):
                at_s = -1.0 if "prepare" in values else values.get("at", 0.0)
                found.append(Fault(kind, at_s, values.get("amount", 1.0)))
        return cls(found)

    @staticmethod
    def spoken(text: str) -> str:
        """Return the text without its orders."""
        return _ORDER.sub("", text)

    def on_start(self) -> None:
        """Carry out the orders for the preparation."""
        error = self._strike(-1.0)
        if error is not None:
            raise error

    def on_step(self, made_s: float) -> RequestFailed | None:
        """Carry out the orders that are due after `made_s` seconds of audio; return the error of one that fails."""
        return self._strike(made_s)

    def spoil(self, samples: Samples) -> Samples:
        """Return the samples, not-a-number where that was ordered."""
        return samples * np.float32("nan") if any(fault.kind == "nan" for fault in self._pending) else samples

    def _strike(self, made_s: float) -> RequestFailed | None:
        due = [fault for fault in self._pending if fault.at_s <= made_s and fault.kind != "nan"]
        self._pending = [fault for fault in self._pending if fault not in due]
        for fault in due:
            if fault.kind == "fail":
                return RequestFailed(Code.ENGINE_FAILED, "the text ordered a failure")
            _carry_out(fault)
        return None


def _carry_out(fault: Fault) -> None:
    if fault.kind == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif fault.kind == "exit":
        raise EngineBroken("the text ordered the end of the process")
    elif fault.kind == "raise":
        raise ValueError("the text ordered an exception")
    elif fault.kind == "hang":
        time.sleep(_FOR_EVER_S)
    elif fault.kind == "spin":
        end = time.monotonic() + _FOR_EVER_S
        while time.monotonic() < end:
            pass
    elif fault.kind == "late":
        time.sleep(fault.amount)
    elif fault.kind == "leak":
        _leaked.append(bytearray(os.urandom(1 << 20)) * int(fault.amount))
