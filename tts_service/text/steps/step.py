"""What a step is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tts_service.text.languages import Language
from tts_service.text.passage import Passage


@dataclass(frozen=True)
class Step:
    """One kind of change; its name is in `normalize`, in what --show-text prints, and in an engine's `reads`."""

    name: str
    apply: Callable[[Passage, Language], Passage]
