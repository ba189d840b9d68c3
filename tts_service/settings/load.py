"""Reads the four layers of settings and merges them; every error names the key, its value and what is allowed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tts_service.allowed import convert
from tts_service.errors import SettingsError
from tts_service.http_client import API_KEY_VARIABLE
from tts_service.settings.keys import ENV_PREFIX, POOL_NAME, Key, keys
from tts_service.settings.schema import GatewaySettings, PoolSettings, ServiceSettings, Settings, WorkerSettings

CONFIG_VARIABLE = ENV_PREFIX + "CONFIG"
# No settings, which are printed and logged: the keys that a server takes, and the one that a client sends.
API_KEYS_VARIABLE = ENV_PREFIX + "API_KEYS"
COMMAND_LINE = "command line"

# Kubernetes puts these into every container where a Service is called "tts-service"; they are not ours.
_SERVICE_LINK = re.compile(r"^TTS_SERVICE_(SERVICE_(HOST|PORT(_.*)?)|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$")

_SECTIONS = {"service": ServiceSettings, "gateway": GatewaySettings, "workers": WorkerSettings}


class Loaded(NamedTuple):
    """Settings, and for each key that is not at its default the layer that set it."""

    settings: Settings
    origins: dict[str, str]


def load(config: Path | None, environ: Mapping[str, str], flags: Mapping[str, Any]) -> Loaded:
    """Return the effective settings.

    `config` is a TOML file or None (then the environment's TTS_SERVICE_CONFIG, if any); `flags` maps dotted keys to
    values, with the key "pool.NAME" standing for that key of the only pool. Raises SettingsError.
    """
    path = config or (Path(environ[CONFIG_VARIABLE]) if environ.get(CONFIG_VARIABLE) else None)
    tree = _read_file(path) if path else {}
    pools = _pool_names(tree, path)
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    known = {key.dotted: key for key in keys(pools)}
    for dotted, value in _flatten(tree, path).items():
        _set(known, values, origins, dotted, value, f"{path}")
    for dotted, (name, text) in _from_environment(known, environ).items():
        _set(known, values, origins, dotted, text, f"environment {name}", text=True)
    for dotted, value in _from_flags(flags, pools).items():
        _set(known, values, origins, dotted, value, COMMAND_LINE, text=isinstance(value, str))
    settings = _build(values, pools)
    _check_together(settings)
    return Loaded(settings, origins)


def _read_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"cannot read the settings file {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not valid TOML: {error}") from error


def _pool_names(tree: dict[str, Any], path: Path | None) -> list[str]:
    pools = tree.get("pools", {"default": {}})
    if not isinstance(pools, dict) or not pools:
        raise SettingsError(f"{path}: pools = {pools!r}: expected tables like [pools.default]")
    for name in pools:
        if not POOL_NAME.fullmatch(name):
            raise SettingsError(f"{path}: pool name {name!r}: expected up to 32 of a-z, 0-9, - and _")
        if "-" in name and name.replace("-", "_") in (other.replace("-", "_") for other in pools if other != name):
            raise SettingsError(f"{path}: pool name {name!r}: another pool's differs from it in - and _ only")
    return list(pools)


def _flatten(tree: dict[str, Any], path: Path | None) -> dict[str, Any]:
    """Return dotted key -> value; the depth of a leaf is fixed by the schema (options is one leaf)."""
    flat: dict[str, Any] = {}
    for section, table in tree.items():
        if section not in (*_SECTIONS, "pools"):
            raise SettingsError(
                f"{path}: unknown section [{section}]; there are service, gateway, workers and pools.NAME"
            )
        tables = {f"pools.{name}": inner for name, inner in table.items()} if section == "pools" else {section: table}
        for prefix, inner in tables.items():
            if not isinstance(inner, dict):
                raise SettingsError(f"{path}: {prefix} = {inner!r}: expected a table [{prefix}]")
            flat |= {f"{prefix}.{key}": value for key, value in inner.items()}
    return flat


def _from_environment(known: Mapping[str, Key], environ: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    by_variable = {key.env: dotted for dotted, key in known.items()}
    found: dict[str, tuple[str, str]] = {}
    for name, value in environ.items():
        if (
            not name.startswith(ENV_PREFIX)
            or name in (CONFIG_VARIABLE, API_KEYS_VARIABLE, API_KEY_VARIABLE)
            or _SERVICE_LINK.match(name)
        ):
            continue
        if name not in by_variable:
            raise SettingsError(f"environment variable {name} names no setting; see `tts-service check --keys`")
        found[by_variable[name]] = (name, value)
    return found


def _from_flags(flags: Mapping[str, Any], pools: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for dotted, value in flags.items():
        if value is None:
            continue
        if dotted.startswith("pool."):
            if len(pools) > 1:
                raise SettingsError(
                    f"--{dotted[5:]} is for services with one pool; set pools.NAME.{dotted[5:]} instead"
                )
            dotted = f"pools.{pools[0]}.{dotted[5:]}"
        found[dotted] = value
    return found


def _set(
    known: Mapping[str, Key],
    values: dict[str, Any],
    origins: dict[str, str],
    dotted: str,
    value: Any,
    origin: str,
    *,
    text: bool = False,
) -> None:
    """Convert one value and note where it came from; values of environment and flags arrive as text."""
    key = known.get(dotted)
    if key is None:
        raise SettingsError(f"{origin}: unknown key {dotted}; see `tts-service check --keys`")
    try:
        values[dotted] = convert(_table(value) if text and key.default == {} else value, key.field_type, text=text)
    except ValueError as error:
        raise SettingsError(f"{origin}: {dotted} = {value!r}: expected {error}") from None
    origins[dotted] = origin


def _table(text: str) -> Any:
    """A table in the environment is written as inline TOML: {stepping = "batched"}."""
    try:
        return tomllib.loads(f"table = {text}")["table"]
    except tomllib.TOMLDecodeError:
        return text


def _build(values: Mapping[str, Any], pools: list[str]) -> Settings:
    def part(prefix: str) -> dict[str, Any]:
        return {
            dotted.rpartition(".")[2]: value for dotted, value in values.items() if dotted.rpartition(".")[0] == prefix
        }

    return Settings(
        service=ServiceSettings(**part("service")),
        gateway=GatewaySettings(**part("gateway")),
        workers=WorkerSettings(**part("workers")),
        pools={name: PoolSettings(**part(f"pools.{name}")) for name in pools},
    )


def _check_together(settings: Settings) -> None:
    """Refuse values that are each allowed, but not together."""
    gateway = settings.gateway
    if gateway.max_requests >= gateway.threads:
        raise SettingsError(
            f"gateway.max_requests = {gateway.max_requests}: expected less than gateway.threads = {gateway.threads}, "
            "so that /health finds a free thread"
        )
    workers = settings.workers
    for key in ("step_timeout_s", "prepare_timeout_s"):
        if getattr(workers, key) < 2 * workers.heartbeat_s:
            raise SettingsError(
                f"workers.{key} = {getattr(workers, key)}: expected at least twice workers.heartbeat_s, which is "
                f"{workers.heartbeat_s}"
            )
    reserve = workers.reserve_cpus
    if isinstance(reserve, int) and reserve < 0:
        raise SettingsError(f'workers.reserve_cpus = {reserve}: expected a whole number from 0, or "auto"')
    for name, pool in settings.pools.items():
        seed = pool.default_seed
        if isinstance(seed, int) and not 0 <= seed < 2**63:
            raise SettingsError(
                f'pools.{name}.default_seed = {seed}: expected a whole number from 0 to 2**63 - 1, or "random"'
            )
