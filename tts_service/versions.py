"""Tells whether the package on disk has been replaced since this process started."""

from __future__ import annotations

from importlib import metadata

PACKAGE = "tts-service"


class InstalledVersion:
    """Remembers which version was installed when it was constructed, at the start of a process."""

    def __init__(self) -> None:
        self.at_start = installed_version()

    def is_stale(self) -> bool:
        """Return True when another version is installed now: only a restart of this process can follow it."""
        return installed_version() != self.at_start


def installed_version() -> str:
    """Return the version that pip has installed, "" where the code runs without being installed."""
    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        return ""
