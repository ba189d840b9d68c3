"""`tests/bench/run`: compare this server with others, and write the result as Markdown, JSON and a picture."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec

from bench.comparing import Comparison, joe_voice
from bench.measurements import Measurements, Shape, problems
from bench.page import page
from bench.peers import PEERS
from bench.picture import draw
from tts_service.bench.progress import ProgressBars
from tts_service.errors import TtsError
from tts_service.log import set_up

SHORT = Shape(1, 40, [1, 8, 16], 20)
FULL = Shape(3, 80, [1, 2, 4, 8, 16], 100)


@click.command()
@click.option(
    "--work",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Directory for the peers' environments, the cut voice and the result; kept for the next time.",
)
@click.option(
    "--peer",
    "peers",
    multiple=True,
    type=click.Choice(list(PEERS)),
    help="To be compared with; may be repeated. Default: all; piper-http with --short.",
)
@click.option("--short", is_flag=True, help="One round of 40 requests at 1, 8 and 16 at once: a minute or two.")
@click.option("--rounds", type=click.IntRange(1, 100), help="Default: 3.")
@click.option("--requests", type=click.IntRange(1, 100_000), help="Of each measurement. Default: 80, over 40 texts.")
@click.option(
    "-c",
    "--concurrency",
    "concurrencies",
    type=click.IntRange(1, 256),
    multiple=True,
    help="Requests at once; may be repeated. Default: 1, 2, 4, 8, 16.",
)
@click.option("--connections", type=click.IntRange(2, 100_000), help="Fresh ones of the threads drill. Default: 100.")
@click.option(
    "--voice",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A Piper voice's .onnx. Default: the one that the tests have.",
)
def main(
    work: Path,
    peers: tuple[str, ...],
    short: bool,
    rounds: int | None,
    requests: int | None,
    concurrencies: tuple[int, ...],
    connections: int | None,
    voice: Path | None,
) -> None:
    """Run this server, others and the raw loops of one voice side by side, in turns, on the same texts."""
    set_up("warning", "bench")
    base = SHORT if short else FULL
    shape = Shape(
        rounds or base.n_rounds,
        requests or base.n_requests,
        sorted(set(concurrencies)) or base.concurrencies,
        connections or base.n_connections,
    )
    work = work.absolute()
    work.mkdir(parents=True, exist_ok=True)
    voices, name = (voice.absolute().parent, voice.stem) if voice else joe_voice()
    chosen = peers or (("piper-http",) if short else tuple(PEERS))
    with ProgressBars() as progress:
        measured = Comparison(work, voices, name, chosen, shape).run(progress, lambda found: write(found, work))
    write(measured, work)
    click.echo(page(measured))
    click.echo(f"written: {work}/comparison.md, .json, .png")
    sys.exit(1 if problems(measured) else 0)


def write(measured: Measurements, work: Path) -> None:
    """Write the result in its three forms."""
    (work / "comparison.md").write_text(page(measured), encoding="utf-8")
    (work / "comparison.json").write_bytes(msgspec.json.format(msgspec.json.encode(measured), indent=1) + b"\n")
    draw(measured, work / "comparison.png")


if __name__ == "__main__":
    try:
        main()
    except TtsError as error:
        sys.exit(f"tests/bench/run: {error}")
