"""What the product aims at beside others, and whether it was reached. Pure."""

from __future__ import annotations

from statistics import median

import msgspec

from bench.measurements import (
    OURS,
    PIPER,
    Measurements,
    first_share,
    latency,
    n_dry,
    per_cpu,
    per_wall,
    pss_first_mib,
    pss_mib,
    versus,
    versus_raw,
)
from tts_service.bench.throughput_figures import median_of, ratio

# Concurrencies that the aims name; those that were not measured have no row.
BUSY = (8, 16)


class Aim(msgspec.Struct, frozen=True):
    """One figure and its limit."""

    what: str
    value: float | None
    """None where it was not measured."""
    limit: float
    at_least: bool

    @property
    def is_met(self) -> bool | None:
        """None where it was not measured."""
        if self.value is None:
            return None
        return self.value >= self.limit if self.at_least else self.value <= self.limit


def aims(measured: Measurements) -> list[Aim]:
    """Return all aims, in the order in which they are told."""
    return [
        *_throughput(measured),
        *_one_request(measured),
        *_paragraph(measured),
        *_memory(measured),
        *_threads(measured),
    ]


def _throughput(measured: Measurements) -> list[Aim]:
    ours, piper = measured.buffered[OURS], measured.buffered.get(PIPER)
    found = []
    for c in (c for c in BUSY if c in measured.shape.concurrencies):
        where = f"buffered wav, {c} at once"
        found.append(Aim(f"{where}: of the raw loops, per second", versus_raw(ours, measured.raw, c), 0.95, True))
        if piper is not None:
            found.append(Aim(f"{where}: of piper's server, per second", versus(ours, piper, per_wall, c), 1.08, True))
            found.append(Aim(f"{where}: of piper's server, per CPU-s", versus(ours, piper, per_cpu, c), 1.12, True))
        streamed = versus_raw(measured.streams.get(OURS, []), measured.raw_streams, c)
        found.append(Aim(f"streams, {c} at once: of the raw loops, per second", streamed, 0.85, True))
    return found


def _one_request(measured: Measurements) -> list[Aim]:
    found = []
    if piper := measured.lone.get(PIPER):
        value = versus(measured.lone[OURS], piper, latency)
        found.append(Aim("lone request: p50 of piper's server's", value, 1.2, False))
    if rounds := measured.first_audio.get(OURS):
        share = median(map(first_share, rounds))
        found.append(Aim("a 10 s sentence: first audio, share of its whole time", share, 0.25, False))
        found.append(Aim("a 10 s sentence: underruns", float(n_dry(rounds)), 0.0, False))
    return found


def _paragraph(measured: Measurements) -> list[Aim]:
    ours, piper = measured.paragraph.get(OURS), measured.paragraph.get(PIPER)
    if not ours:
        return []
    pairs = zip(ours, measured.paragraph_alone_s, strict=True)
    alone = median_of(ratio(latency(one), alone_s) for one, alone_s in pairs)
    found = [Aim("ten sentences: of one pinned process alone", alone, 0.60, False)]
    if piper:
        found.append(Aim("ten sentences: of piper's server", versus(ours, piper, latency), 0.80, False))
    return found


def _memory(measured: Measurements) -> list[Aim]:
    ours, piper = measured.buffered[OURS], measured.buffered.get(PIPER, [])
    most = max(measured.shape.concurrencies)
    high, first, theirs = pss_mib(ours, most), pss_first_mib(ours), pss_mib(piper, most)
    found = []
    if high and theirs:
        found.append(Aim(f"memory, {most} at once: of piper's server", ratio(high, theirs), 0.5, False))
    if high and first:
        what = f"memory, {most} at once: of that with {measured.shape.concurrencies[0]}"
        found.append(Aim(what, ratio(high, first), 1.10, False))
    return found


def _threads(measured: Measurements) -> list[Aim]:
    compared = [one for one in measured.threads if one.threads and one.cores]
    if not compared:
        return []
    grown = max(one.threads[1] - one.threads[0] for one in compared if one.threads)
    cores = min(ratio(one.cores[1], one.cores[0]) for one in compared if one.cores)
    where = f"{measured.shape.n_connections} fresh connections"
    return [
        Aim(f"{where}: threads more than at first, in any worker", float(grown), 0.0, False),
        Aim(f"{where}: cores of the last ten over the first ten", cores, 0.95, True),
    ]
