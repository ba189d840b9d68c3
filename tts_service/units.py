"""The systemd units of the service, from the templates in tts_service/systemd. Reads files; writes none."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path, PurePosixPath

from tts_service.errors import SettingsError, UsageError

UNITS = ("tts-service.target", "tts-workers.service", "tts-gateway.service", "tts-gateway.socket")
# The units hide these from the service, so what it needs of them is mounted back.
_HOMES = ("/home", "/root", "/run/user")
_TEMPORARY = ("/tmp", "/var/tmp")


@dataclass(frozen=True)
class Installation:
    """What the units need to know about an installation."""

    command: str
    """Begins every command line: the interpreter and its options."""
    config: PurePosixPath
    """The settings file that both halves read."""
    host: str
    port: int
    needs: tuple[PurePosixPath, ...]
    """Every directory that has code, models or settings in it."""


def render(installation: Installation) -> dict[str, str]:
    """Return the text of each unit by name. SettingsError or UsageError for what systemd cannot be told."""
    for path in (installation.config, *installation.needs):
        if any(character.isspace() or character in "\"'\\%$:" for character in str(path)):
            raise UsageError(f"{str(path)!r} cannot stand in a systemd unit: expected no space, quote, colon, % or $")
    parts = {
        "COMMAND": installation.command,
        "CONFIG": str(installation.config),
        "LISTEN": listen_address(installation.host, installation.port),
        "COMMON": template("common.conf").strip(),
        "HARDENING": template("hardening.conf").strip(),
        "HOME": "\n".join(_home_lines(installation.needs)),
    }
    units = {}
    for name in UNITS:
        text = template(name)
        # COMMON and HARDENING come first: they have places of their own.
        for part in ("COMMON", "HARDENING", *parts):
            text = text.replace(f"@{part}@", parts[part])
        units[name] = text
    return units


def template(name: str) -> str:
    """Return a file of tts_service/systemd."""
    return (resources.files("tts_service") / "systemd" / name).read_text(encoding="utf-8")


def listen_address(host: str, port: int) -> str:
    """Return what ListenStream= is to be. SettingsError where a socket unit cannot listen there."""
    if port == 0:
        raise SettingsError("gateway.port = 0: expected 1 to 65535, a socket unit cannot take any free port")
    if not host:
        return str(port)
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        raise SettingsError(
            f"gateway.host = {host!r}: expected an address like 127.0.0.1 or ::, a socket unit looks up no names"
        ) from None
    return f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"


def _home_lines(needs: tuple[PurePosixPath, ...]) -> list[str]:
    """Return how homes are hidden, and what of them, and of the temporary directories, is shown all the same."""
    hidden = [path for path in needs if _is_below(path, (*_HOMES, *_TEMPORARY))]
    shown = sorted({path for path in hidden if not any(other != path and other in path.parents for other in hidden)})
    if not shown:
        return ["ProtectHome=yes"]
    return [
        "# Exception: this installation, or what its settings name, is in a directory that is hidden from services;",
        "# of those directories only this is shown, read-only.",
        "ProtectHome=tmpfs",
        *(f"BindReadOnlyPaths={path}" for path in shown),
    ]


def _is_below(path: PurePosixPath, folders: tuple[str, ...]) -> bool:
    return any(PurePosixPath(folder) in (path, *path.parents) for folder in folders)


def needs_of(prefixes: list[str], packages: list[str | None], files: list[str]) -> tuple[PurePosixPath, ...]:
    """Return the directories of an installation, as they are named and as their links lead.

    `prefixes` are directories, `packages` the files of packages that may be installed in place, `files` what the
    settings name.
    """
    named = [Path(prefix) for prefix in prefixes]
    named += [Path(package).parents[1] for package in packages if package]
    named += [Path(file).absolute() for file in files if file]
    return tuple(dict.fromkeys(PurePosixPath(found) for path in named for found in (path, path.resolve())))
