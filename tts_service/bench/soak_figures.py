"""What a soak says about each process: does memory grow beyond its noise, do threads and descriptors. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

_MIB = 1 << 20
_S_PER_HOUR = 3600.0
# Slopes are taken for real from so many standard errors on.
SURE = 3.0


class ProcessSample(msgspec.Struct, frozen=True):
    """One process at one time, while no request is in progress."""

    pid: int
    name: str
    own_bytes: int
    """Memory that is no file's."""
    threads: int
    descriptors: int
    sockets: int


class Sample(msgspec.Struct, frozen=True):
    """The whole service at one time."""

    at_s: float
    """Since the beginning of the load."""
    processes: list[ProcessSample]
    zombies: list[str]
    files: list[str]
    """Temporary files that are there."""


class Line(msgspec.Struct, frozen=True):
    """One process over the time after the warm-up."""

    pid: int
    name: str
    n: int
    first_mib: float
    last_mib: float
    slope_mib_h: float
    error_mib_h: float
    """Standard error of the slope."""
    grown_mib: float
    """What it surely grew by in the time measured: the slope less SURE errors, from 0."""
    threads: tuple[int, int]
    """Least and most."""
    descriptors: tuple[int, int]
    sockets: tuple[int, int]


def line_of(samples: Sequence[tuple[float, ProcessSample]]) -> Line:
    """Return the figures of one process. At least three samples."""
    times = np.array([at_s for at_s, _ in samples])
    sizes = np.array([sample.own_bytes / _MIB for _, sample in samples])
    slope, error = slope_of(times, sizes)
    process = samples[0][1]
    return Line(
        pid=process.pid,
        name=process.name,
        n=len(samples),
        first_mib=float(sizes[0]),
        last_mib=float(sizes[-1]),
        slope_mib_h=slope * _S_PER_HOUR,
        error_mib_h=error * _S_PER_HOUR,
        grown_mib=max(0.0, (slope - SURE * error) * float(times[-1] - times[0])),
        threads=_range([sample.threads for _, sample in samples]),
        descriptors=_range([sample.descriptors for _, sample in samples]),
        sockets=_range([sample.sockets for _, sample in samples]),
    )


def slope_of(times: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Return the least-squares slope and its standard error (Draper and Smith, Applied Regression Analysis, 1.4)."""
    centred = times - times.mean()
    spread = float((centred**2).sum())
    slope = float((centred * values).sum() / spread)
    residuals = values - values.mean() - slope * centred
    return slope, float(np.sqrt((residuals**2).sum() / (len(times) - 2) / spread))


def still_grows(values: Sequence[int]) -> bool:
    """Return True where the later half has more than the earlier half ever had."""
    middle = len(values) // 2
    return max(values[middle:]) > max(values[:middle])


def _range(values: Sequence[int]) -> tuple[int, int]:
    return min(values), max(values)
