"""`tts-service install-units`: writes the systemd units for the virtual environment that it runs from."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path, PurePosixPath

import click

from tts_service.cli.options import read_settings
from tts_service.errors import UsageError
from tts_service.settings.document import default_toml

UNIT_DIR = "etc/systemd/system"
SYSUSERS_FILE = "etc/sysusers.d/tts-service.conf"
DEFAULT_CONFIG = "/etc/tts-service/config.toml"

_NEXT = """\
next, as root:
  systemd-sysusers {sysusers}
  systemctl daemon-reload
  systemctl enable --now tts-service.target\
"""


@click.command("install-units")
@click.option(
    "--root",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("/"),
    show_default=True,
    help="Where the machine's file system is; another one for an image.",
)
@click.option("--config", type=click.Path(path_type=PurePosixPath), default=DEFAULT_CONFIG, show_default=True,
              help="The settings file of the service; written with all defaults where there is none.")  # fmt: skip
def command(root: Path, config: PurePosixPath) -> None:
    """Write units, user and settings of the service for systemd; each restart then runs this installation."""
    from tts_service.units import Installation, needs_of, render, template

    if not config.is_absolute():
        raise UsageError(f"--config {config}: expected an absolute path")
    config_file = root / config.relative_to("/")
    settings = read_settings(config_file if config_file.exists() else None).settings
    models = [pool.models for pool in settings.pools.values()]
    installation = Installation(
        # -P: the installed package, whatever lies in the present directory.
        command=f"{sys.executable} -P -m tts_service",
        config=config,
        host=settings.gateway.host,
        port=settings.gateway.port,
        needs=needs_of([sys.prefix, sys.base_prefix, *_library_dirs()], _package_files(), [*models, str(config)]),
    )
    units = render(installation)
    files = {root / UNIT_DIR / name: text for name, text in units.items()}
    files[root / SYSUSERS_FILE] = template("sysusers.conf")
    if not config_file.exists():
        files[config_file] = default_toml()
    for path, text in files.items():
        _write(path, text)
        click.echo(f"wrote {path}")
    click.echo(_NEXT.format(sysusers=Path("/") / SYSUSERS_FILE))


def _library_dirs() -> list[str]:
    """Return the directories that this interpreter finds packages in."""
    return [path for path in sys.path if path.endswith("-packages") and os.path.isdir(path)]


def _package_files() -> list[str | None]:
    specs = [importlib.util.find_spec(name) for name in ("tts_service", "tts_workers")]
    return [spec.origin if spec else None for spec in specs]


def _write(path: Path, text: str) -> None:
    """Replace a file whole, readable by all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(text, encoding="utf-8")
    fresh.chmod(0o644)
    fresh.replace(path)
