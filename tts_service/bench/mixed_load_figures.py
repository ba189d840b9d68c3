"""From what the callers of the mix scenario heard to its figures. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tts_service.bench.callers import Heard
from tts_service.bench.throughput_figures import percentile, ratio


class Cell(msgspec.Struct, frozen=True):
    """One stretch of one-liners at one server."""

    order: str
    with_book: bool
    heard: list[Heard]
    """The one-liners, and not the book."""
    wall_s: float
    audio_s: float
    """Made by all workers, for the book, too."""
    busy: float
    """Share of the time for which the workers were in their engine."""
    server_underruns: float
    """As the server counts them, of every stream."""
    server_dry_s: float


class Line(msgspec.Struct, frozen=True):
    """The figures of one order with or without the book: all its rounds together."""

    order: str
    with_book: bool
    n_offered: int
    n_refused: int
    n_unanswered: int
    """Whose client hung up before the first audio."""
    first_audio_s: list[float]
    """Of all that were admitted; an unanswered one counts for as long as it waited."""
    n_underruns: int
    dry_s: float
    server_underruns: int
    busy: float
    audio_per_s: float
    problems: list[str]

    @property
    def p50_s(self) -> float:
        """Median of the time to first audio."""
        return percentile(self.first_audio_s, 50)

    @property
    def p95_s(self) -> float:
        """95th percentile of the time to first audio."""
        return percentile(self.first_audio_s, 95)


def lines(cells: Sequence[Cell]) -> list[Line]:
    """Return a line for each order without and with the book, in the order in which they first come."""
    found = dict.fromkeys((cell.order, cell.with_book) for cell in cells)
    return [_line([cell for cell in cells if (cell.order, cell.with_book) == kind]) for kind in found]


def _line(cells: Sequence[Cell]) -> Line:
    heard = [one for cell in cells for one in cell.heard]
    admitted = [one for one in heard if one.status == 200 or one.hung_up]
    return Line(
        order=cells[0].order,
        with_book=cells[0].with_book,
        n_offered=len(heard),
        n_refused=sum(one.refused for one in heard),
        n_unanswered=sum(one.first_audio_s is None for one in admitted),
        first_audio_s=[one.total_s if one.first_audio_s is None else one.first_audio_s for one in admitted],
        n_underruns=sum(one.n_dry for one in admitted),
        dry_s=sum(one.dry_s for one in admitted),
        server_underruns=round(sum(cell.server_underruns for cell in cells)),
        busy=ratio(sum(cell.busy * cell.wall_s for cell in cells), sum(cell.wall_s for cell in cells)),
        audio_per_s=ratio(sum(cell.audio_s for cell in cells), sum(cell.wall_s for cell in cells)),
        problems=[one.problem for one in heard if one.problem and not one.refused and not one.hung_up],
    )


def gain(found: Sequence[Line], order: str, base: str = "deadline") -> float | None:
    """Return the 95th percentile with the book under `order` over that under `base`; None where one is missing."""
    p95_s = {line.order: line.p95_s for line in found if line.with_book}
    if order not in p95_s or base not in p95_s or order == base:
        return None
    return ratio(p95_s[order], p95_s[base])
