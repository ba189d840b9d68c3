"""The API keys: where they are read from, and whose a presented one is. Pure but for the file; any thread asks.

A key is kept as its SHA-256 only. That is enough for random keys, which cannot be guessed one by one; `tts-service key`
makes them.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import re
import secrets
import stat
import threading
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tts_service.allowed import convert
from tts_service.errors import SettingsError
from tts_service.settings import GatewaySettings
from tts_service.settings.load import API_KEYS_VARIABLE

logger = logging.getLogger(__name__)

# How often the file is looked at for changes.
LOOK_S = 1.0
MIN_KEY_CHARS = 16
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_KEY = re.compile(rf"[!-~]{{{MIN_KEY_CHARS},512}}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class ApiKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One table of the file; its name is the key's, which the log shows."""

    key: str = ""
    """The key itself, or"""
    sha256: str = ""
    """its SHA-256 in hex."""
    requests_per_minute: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    """Speech requests in any 60 s; 0 for no limit."""
    max_in_flight: Annotated[int, Meta(ge=0, le=100_000)] = 0
    """Speech requests at a time; 0 for no limit."""


class Owner(msgspec.Struct, frozen=True):
    """Whose a key is, and what it may do."""

    name: str
    digest: bytes
    requests_per_minute: int = 0
    max_in_flight: int = 0


class KeyRing:
    """All keys: those of the file, which is read again when it changes, and those of the environment."""

    def __init__(self, path: str, from_environment: str = "") -> None:
        """SettingsError where a key cannot be read or is no good one."""
        self._path = Path(path) if path else None
        self._from_environment = _of_environment(from_environment)
        self._lock = threading.Lock()
        self._next_look_s = 0.0
        self._seen: tuple[int, ...] = ()
        self._owners = self._read()

    @classmethod
    def of(cls, settings: GatewaySettings, environ: Mapping[str, str]) -> KeyRing:
        """Return the keys that settings and environment name."""
        return cls(settings.api_keys_file, environ.get(API_KEYS_VARIABLE, ""))

    @property
    def is_asked_for(self) -> bool:
        """True where requests need a key: with a file that has none, nobody gets in."""
        return self._path is not None or bool(self._from_environment)

    def find(self, presented: str) -> Owner | None:
        """Return the owner of a key; compares with all keys, in a time that does not depend on how much is right."""
        self._look()
        digest = digest_of(presented)
        found = None
        for owner in self._owners:
            if hmac.compare_digest(owner.digest, digest):
                found = owner
        return found

    def _look(self) -> None:
        """Read the file again if it has changed. One that is wrong leaves the keys as they were."""
        now = time.monotonic()
        if self._path is None or now < self._next_look_s or not self._lock.acquire(blocking=False):
            return
        try:
            self._next_look_s = now + LOOK_S
            if _mark(self._path) != self._seen:
                self._owners = self._read()
                logger.info("read %d API keys from %s", len(self._owners), self._path)
        except SettingsError as error:
            logger.error("the API keys stay as they were: %s", error)
        finally:
            self._lock.release()

    def _read(self) -> list[Owner]:
        owners = list(self._from_environment)
        if self._path is not None:
            # First, so that a change while it is read is seen the next time.
            self._seen = _mark(self._path)
            owners += _of_file(self._path)
        for owner in owners:
            for other in owners:
                if other is not owner and (other.digest == owner.digest or other.name == owner.name):
                    what = "name" if other.name == owner.name else "key"
                    raise SettingsError(f"API keys {owner.name} and {other.name}: two with the same {what}")
        return owners


def digest_of(key: str) -> bytes:
    """Return what is kept of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def new_key() -> str:
    """Return a key that nobody guesses."""
    return "tts-" + secrets.token_urlsafe(24)


def _mark(path: Path) -> tuple[int, ...]:
    """Return what changes when a file does; () where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode


def _of_file(path: Path) -> list[Owner]:
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & stat.S_IRWXO:
                raise SettingsError(
                    f"gateway.api_keys_file = {path}: its mode is {mode:04o}, and every user of this machine may "
                    f"read or change it: chmod o= {path}"
                )
            tables = tomllib.load(file)
    except OSError as error:
        raise SettingsError(f"gateway.api_keys_file = {path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"gateway.api_keys_file = {path}: is not valid TOML: {error}") from error
    return [_of_table(f"{path}: [{name}]", name, table) for name, table in tables.items()]


def _of_table(where: str, name: str, table: Any) -> Owner:
    if not NAME.fullmatch(name):
        raise SettingsError(f"{where}: expected a name of up to 64 letters, digits and . _ @ -")
    if not isinstance(table, dict):
        raise SettingsError(f"{where}: expected a table with sha256 or key")
    known = {field.name: field.type for field in msgspec.structs.fields(ApiKey)}
    for field, value in table.items():
        if field not in known:
            raise SettingsError(f"{where}: unknown {field}; expected one of {', '.join(known)}")
        try:
            convert(value, known[field])
        except ValueError as error:
            # Not its value, which may be a key.
            raise SettingsError(f"{where}: {field}: expected {error}") from None
    entry = ApiKey(**table)
    if bool(entry.key) is bool(entry.sha256):
        raise SettingsError(f"{where}: expected either sha256 or key")
    return Owner(name, _digest(where, entry), entry.requests_per_minute, entry.max_in_flight)


def _digest(where: str, entry: ApiKey) -> bytes:
    if entry.sha256:
        if not _SHA256.fullmatch(entry.sha256.lower()):
            raise SettingsError(f"{where}: sha256: expected 64 hex digits")
        return bytes.fromhex(entry.sha256)
    if not _KEY.fullmatch(entry.key):
        raise SettingsError(f"{where}: key: expected {MIN_KEY_CHARS} to 512 printable ASCII characters")
    return digest_of(entry.key)


def _of_environment(text: str) -> list[Owner]:
    owners = []
    for number, pair in enumerate(text.split(), start=1):
        name, found, key = pair.partition("=")
        where = f"environment {API_KEYS_VARIABLE}, key {number}"
        if not found:
            raise SettingsError(f"{where}: expected NAME=KEY, more of them after spaces")
        owners.append(_of_table(where, name, {"key": key}))
    return owners
