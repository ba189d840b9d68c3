"""What `tts-service drain` has said, kept for the next life of the workers' half. Used by its one thread."""

from __future__ import annotations

import logging
from pathlib import Path

logger = logging.getLogger(__name__)


class ClosedMark:
    """A file in the runtime directory: while it is there, the service takes no new requests."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "closed"

    def is_set(self) -> bool:
        """Return True where an earlier life was closed and not opened again. Says so, since nobody may remember."""
        found = self.path.exists()
        if found:
            logger.warning(
                "closed to new requests since an earlier `tts-service drain` (%s); `tts-service drain --undo` opens it",
                self.path,
            )
        return found

    def keep(self, *, closed: bool) -> None:
        """Remember this. Where the file cannot be written, the order holds for this life only, and the log says so."""
        try:
            if closed:
                self.path.touch(mode=0o600)
            else:
                self.path.unlink(missing_ok=True)
        except OSError as error:
            logger.error("cannot keep that the service is %s: %s", "closed" if closed else "open", error)
