"""`tts-service voices`: which Piper voices does a directory hold, and can they be served?"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from tts_service.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from tts_workers.engines.piper.listing import Finding


@click.command("voices")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option(
    "--cache", type=click.Path(path_type=Path), help="Where cut voices are kept; the engine's own by default."
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(directory: Path, cache: Path | None, as_json: bool) -> int:
    """List and check the Piper voices (NAME.onnx with NAME.onnx.json) in DIRECTORY.

    Each is loaded and tried; a voice that has not been served before is cut into its parts for that, which takes some
    seconds. The exit code is 65 where a voice cannot be served.
    """
    if not directory.is_dir():
        raise UsageError(f"{directory} is no directory")

    from tts_workers.engines.piper.engine import check_extra

    check_extra()
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

    from tts_workers.engines.piper.cache import default_directory
    from tts_workers.engines.piper.listing import findings

    found = findings(directory, cache or default_directory(os.environ))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found)))
    else:
        for voice in found:
            click.echo(_line(voice))
    if not found:
        click.echo(f"there is no .onnx file in {directory}", err=True)
    return ExitCode.BAD_INPUT if not found or any(voice.refused_because for voice in found) else ExitCode.OK


def _line(voice: Finding) -> str:
    if voice.refused_because:
        return f"{voice.id}: REFUSED: {voice.refused_because}"
    speakers = f"{voice.n_speakers} speaker{'s' if voice.n_speakers > 1 else ''}"
    how = f"runs whole, because {voice.whole_because}" if voice.whole_because else "runs in windows"
    return f"{voice.id}: {voice.language}, {voice.sample_rate_hz} Hz, {speakers}, {voice.phoneme_type} phonemes, {how}"
