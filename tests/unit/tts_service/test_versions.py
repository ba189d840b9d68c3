"""Noticing that the package on disk has been replaced."""

from __future__ import annotations

import os
import shutil
from importlib import metadata
from pathlib import Path

import pytest

from tts_service import __version__
from tts_service.versions import InstalledVersion, installed_version


def install(folder: Path, version: str) -> None:
    """Do to `folder` what pip does when it replaces the package."""
    for old in folder.glob("tts_service-*.dist-info"):
        shutil.rmtree(old)
    info = folder / f"tts_service-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: tts-service\nVersion: {version}\n")
    # The import system remembers a folder's list of files until the folder's time changes; pip takes longer than that.
    os.utime(folder, (info.stat().st_atime, sum(map(ord, version))))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that comes before all others on the import path."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_the_code_is_the_version_that_is_installed() -> None:
    assert installed_version() == __version__


def test_a_process_is_stale_when_another_version_has_been_installed_since(site: Path) -> None:
    install(site, "1.0.0")
    version = InstalledVersion()
    assert version.at_start == "1.0.0"
    assert not version.is_stale()
    install(site, "1.1.0")
    assert version.is_stale()
    assert not InstalledVersion().is_stale()


def test_the_same_version_installed_again_is_not_stale(site: Path) -> None:
    install(site, "1.0.0")
    version = InstalledVersion()
    install(site, "1.0.0")
    assert not version.is_stale()


def test_code_that_runs_without_being_installed_is_never_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_found(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", not_found)
    version = InstalledVersion()
    assert version.at_start == ""
    assert not version.is_stale()
