"""`tts-service say`: a text into a file or to standard output, with or without a server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from tts_service.cli.options import read_settings, settings_flags
from tts_service.errors import UsageError
from tts_service.log import set_up


@click.command("say")
@click.argument("text")
@click.option("-o", "--output", default="-", show_default=True, help='File to write, "-" for standard output.')
@click.option(
    "--format",
    "response_format",
    type=click.Choice(["wav", "mp3", "opus", "aac", "flac", "pcm", "ulaw", "alaw"]),
    help="Default: as -o ends, or wav.",
)
@click.option("--voice", help="Voice id; default: the pool's.")
@click.option("--model", help="Pool that speaks; default: the one that has the voice.")
@click.option("--seed", type=int, help="Fixes the random part; -1 for a random one.")
@click.option("--speed", type=float, help="Speaking rate, 1 is the voice's own.")
@click.option("--sample-rate", type=int, help="Hz; default: gateway.sample_rate_hz.")
@click.option("--ssml", is_flag=True, help="TEXT is a document of SSML.")
@click.option("--show-text", is_flag=True, help="Print what would be said, and which rules made it so; no audio.")
@click.option("--url", help="Use the server there instead of starting workers.")
@settings_flags("pool")
def command(
    text: str,
    output: str,
    response_format: str | None,
    ssml: bool,
    show_text: bool,
    url: str | None,
    config: Path | None,
    **flags: Any,
) -> None:
    """Speak TEXT ("-" reads it from standard input)."""
    from tts_service.cli.audio_file import AudioFile, format_of
    from tts_service.cli.progress import SpeakingBar
    from tts_service.cli.sources import from_own_workers, from_server
    from tts_service.cli.text_sources import text_from_own_workers, text_from_server
    from tts_service.gateway.encoders import check_rate, fitting_rate, is_telephony, make_encoder

    if output == "-" and sys.stdout.isatty() and not show_text:
        raise UsageError("audio does not go to a terminal; give -o FILE, or send standard output somewhere")
    set_up("warning", "say")
    request = {name: flags.pop(name) for name in ("voice", "model", "seed", "speed", "sample_rate")}
    fields = {"input": _read_text(text)} | {name: value for name, value in request.items() if value is not None}
    if ssml:
        fields["input_type"] = "ssml"
    loaded = read_settings(config, **flags)
    if show_text:
        for segment in text_from_server(url, fields) if url else text_from_own_workers(loaded, config, fields):
            click.echo(_shown(segment))
        return
    wanted = format_of(output, response_format)
    if is_telephony(wanted):
        fields.setdefault("sample_rate", fitting_rate(wanted, 0))
    with SpeakingBar(fields["input"]) as bar:
        source = from_server(url, fields) if url else from_own_workers(loaded, config, fields, bar.segments)
        with source as pcm:
            check_rate(wanted, pcm.rate_hz)
            gateway = loaded.settings.gateway
            encoder = make_encoder(wanted, pcm.rate_hz, gateway.mp3_kbps, gateway.opus_kbps, gateway.aac_kbps)
            with AudioFile(output, encoder) as file:
                for chunk in pcm.chunks:
                    file.write(chunk)
                    bar.audio(file.n_samples / pcm.rate_hz)
    if output != "-":
        click.echo(f"{output}: {file.n_samples / pcm.rate_hz:.1f} s of audio", err=True)


def _shown(segment: dict[str, Any]) -> str:
    """Return a segment in lines: what is said, its place, what follows, and each change."""
    notes = [f"{segment['start']}-{segment['end']}"]
    if segment["pause_before"]:
        notes.append(f"{segment['pause_before']:g} s before")
    if segment["pause_after"]:
        notes.append(f"then {segment['pause_after']:g} s")
    if segment["speed"] != 1:
        notes.append(f"speed {segment['speed']:g}")
    lines = [f"{segment['text']}  [{', '.join(notes)}]"]
    for edit in segment["edits"]:
        lines.append(f"    {edit['rule']}: {edit['before']!r} -> {edit['after']!r}")
    return "\n".join(lines)


def _read_text(text: str) -> str:
    if text != "-":
        return text
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is not UTF-8 at byte {error.start}") from error
