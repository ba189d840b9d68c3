"""Wheel and source distribution hold what a user needs, and nothing that is not theirs."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tts_service import __version__

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build both from a copy of the tracked files, as a release would."""
    folder = tmp_path_factory.mktemp("dist")
    source = tmp_path_factory.mktemp("source")
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, tracked.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_wheel_holds_every_module_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    expected = set()
    for package, folder in (("tts_service", ROOT / "tts_service"), ("tts_workers", ROOT / "workers" / "tts_workers")):
        for path in folder.rglob("*"):
            if (
                path.suffix in (".py", ".html")
                or path.name == "py.typed"
                or (path.is_file() and path.parent.name == "systemd")
            ):
                expected.add(f"{package}/{path.relative_to(folder)}")
    assert names == expected


def test_the_wheel_installs_and_runs_without_the_checkout(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(tmp_path), str(wheel)]
    subprocess.run(command, check=True)
    code = "import tts_service, tts_workers; print(tts_service.__file__, tts_workers.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {code}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.count(str(tmp_path)) == 2
    assert (tmp_path / "bin" / "tts-service").exists()


def test_the_source_distribution_holds_licence_settings_and_tests(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    root = f"tts_service-{__version__}"
    with tarfile.open(sdist) as archive:
        names = set(archive.getnames())
    for name in (
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "config/default.toml",
        "tests/run",
        "workers/tts_workers/py.typed",
    ):
        assert f"{root}/{name}" in names


def test_the_default_install_asks_for_these_and_says_what_they_bring_under_the_gpl(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    archive = zipfile.ZipFile(wheel)
    (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    required = [line for line in archive.read(metadata).decode().splitlines() if line.startswith("Requires-Dist")]
    default = {line.split()[1].split(">")[0].split("<")[0].split("=")[0] for line in required if "extra ==" not in line}
    assert default == {
        "av", "babel", "cachetools", "click", "emoji", "flask", "flask-cors", "gunicorn", "hibari-tts", "lameenc",
        "limits", "msgspec", "num2words", "numpy", "onnxruntime",
        "prometheus-client", "pyzmq", "rich",
        "sentencex", "soxr", "wsproto",
    }  # fmt: skip
    assert b"x264" in archive.read(metadata), "the wheels of av carry it"
