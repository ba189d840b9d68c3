"""The slot table of one synthesis process. Pure: no engine, no socket, no clock."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from tts_service.protocol import Job, JobKey
from tts_workers.engines.base import Sequence


class SlotState(enum.Enum):
    """Life of a slot: FREE → PREPARING → RUNNING → DRAINING → FREE."""

    FREE = "free"
    PREPARING = "preparing"
    RUNNING = "running"
    DRAINING = "draining"


@dataclass
class Slot:
    """Room for one segment in progress."""

    state: SlotState = SlotState.FREE
    job: Job | None = None
    sequence: Sequence | None = None
    order: int = 0
    """Counts the segments that were put into this table; breaks ties between equal deadlines."""
    n_made: int = 0
    """Samples the engine has made, delivered or not."""
    compute_s: float = 0.0

    @property
    def urgency(self) -> tuple[float, int]:
        """The smaller, the more urgent."""
        return (self.job.deadline_s if self.job else 0.0, self.order)


@dataclass
class SlotTable:
    """A fixed number of slots. The dispatcher assigns no more jobs than there are free ones."""

    n_slots: int
    slots: list[Slot] = field(init=False)
    _n_added: int = 0

    def __post_init__(self) -> None:
        self.slots = [Slot() for _ in range(self.n_slots)]

    def add(self, job: Job) -> Slot:
        """Put a job into a free slot, as PREPARING. LookupError when there is none: the credits were not kept."""
        slot = next((slot for slot in self.slots if slot.state is SlotState.FREE), None)
        if slot is None:
            raise LookupError(f"job {job.key} came without a free slot")
        self._n_added += 1
        slot.state, slot.job, slot.sequence, slot.order = SlotState.PREPARING, job, None, self._n_added
        slot.n_made, slot.compute_s = 0, 0.0
        return slot

    def free(self, slot: Slot) -> None:
        """Empty a slot."""
        slot.state, slot.job, slot.sequence = SlotState.FREE, None, None

    def find(self, key: JobKey) -> Slot | None:
        """Return the slot that holds this attempt, if any."""
        return next((slot for slot in self.slots if slot.job is not None and slot.job.key == key), None)

    def to_prepare(self) -> Slot | None:
        """Return the most urgent slot whose segment has not been started."""
        return min(self._in(SlotState.PREPARING), key=lambda slot: slot.urgency, default=None)

    def to_step(self, *, all_of_them: bool) -> list[Slot]:
        """Return the running slots that the next step advances: all, or the most urgent."""
        running = sorted(self._in(SlotState.RUNNING), key=lambda slot: slot.urgency)
        return running if all_of_them else running[:1]

    @property
    def n_active(self) -> int:
        """Slots that are not free."""
        return sum(slot.state is not SlotState.FREE for slot in self.slots)

    def _in(self, state: SlotState) -> list[Slot]:
        return [slot for slot in self.slots if slot.state is state]
