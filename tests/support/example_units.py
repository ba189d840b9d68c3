"""The units for an installation in /opt, which deploy/systemd shows: python tests/support/example_units.py

They are what `tts-service install-units` writes there.
"""

from __future__ import annotations

import sys
from pathlib import Path, PurePosixPath

from tts_service.units import Installation, render, template

FOLDER = Path(__file__).parents[2] / "deploy" / "systemd"
EXAMPLE = Installation(
    command="/opt/tts-service/bin/python -P -m tts_service",
    config=PurePosixPath("/etc/tts-service/config.toml"),
    host="127.0.0.1",
    port=8000,
    needs=(PurePosixPath("/opt/tts-service"), PurePosixPath("/usr")),
)


def files() -> dict[str, str]:
    """Return the text of every file in deploy/systemd by name."""
    return render(EXAMPLE) | {"sysusers.conf": template("sysusers.conf")}


if __name__ == "__main__":
    for name, text in files().items():
        (FOLDER / name).write_text(text)
    sys.exit(0)
