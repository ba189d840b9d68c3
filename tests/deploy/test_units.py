"""The systemd units: what deploy/systemd shows is what is installed, and their numbers agree with the settings'."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from support.example_units import EXAMPLE, FOLDER, files
from tts_service.cli.halves import FINAL_CODES
from tts_service.errors import ExitCode, SettingsError, UsageError
from tts_service.gateway.listener import BACKLOG
from tts_service.room import MAX_CONNECTIONS
from tts_service.settings import Settings
from tts_service.units import needs_of, render

SERVICES = ("tts-workers.service", "tts-gateway.service")


def value(unit: str, name: str) -> str:
    """Return the last value of a directive."""
    return re.findall(rf"^{name}=(.*)$", unit, re.MULTILINE)[-1]


def test_deploy_systemd_holds_what_install_units_writes() -> None:
    assert {path.name: path.read_text() for path in FOLDER.iterdir()} == files()


@pytest.mark.parametrize("name", SERVICES)
def test_no_place_holder_is_left_and_lines_are_short(name: str) -> None:
    unit = render(EXAMPLE)[name]
    assert not re.search(r"@[A-Z]+@", unit)
    assert max(map(len, unit.splitlines())) <= 120


@pytest.mark.parametrize("name", SERVICES)
def test_what_a_restart_cannot_mend_is_not_restarted(name: str) -> None:
    codes = value(render(EXAMPLE)[name], "RestartPreventExitStatus").split()
    assert {int(code) for code in codes} == FINAL_CODES


def test_time_limits_leave_room_for_those_of_the_settings() -> None:
    units, settings = render(EXAMPLE), Settings()
    start_s = settings.workers.load_timeout_s + settings.workers.warm_up_timeout_s
    assert int(value(units["tts-workers.service"], "TimeoutStartSec")) > start_s
    assert int(value(units["tts-workers.service"], "TimeoutStopSec")) > settings.workers.drain_timeout_s + 10
    assert int(value(units["tts-gateway.service"], "TimeoutStopSec")) > 2 * settings.gateway.graceful_timeout_s
    for name in SERVICES:
        assert int(value(units[name], "LimitNOFILE")) > 2 * MAX_CONNECTIONS
        assert int(value(units[name], "TasksMax")) > 4 * settings.gateway.threads


def test_the_socket_is_like_the_one_that_the_gateway_opens_itself() -> None:
    socket = render(EXAMPLE)["tts-gateway.socket"]
    assert int(value(socket, "Backlog")) == BACKLOG
    assert value(socket, "ListenStream") == f"{Settings().gateway.host}:{Settings().gateway.port}"


@pytest.mark.parametrize(
    ("host", "listen"), [("0.0.0.0", "0.0.0.0:80"), ("::", "[::]:80"), ("", "80"), ("::1", "[::1]:80")]
)
def test_every_kind_of_address_is_written_as_systemd_reads_it(host: str, listen: str) -> None:
    assert value(render(replace(EXAMPLE, host=host, port=80))["tts-gateway.socket"], "ListenStream") == listen


@pytest.mark.parametrize(
    ("changes", "error", "part"),
    [
        ({"port": 0}, SettingsError, "gateway.port = 0"),
        ({"host": "localhost"}, SettingsError, "gateway.host = 'localhost'"),
        ({"config": PurePosixPath("/etc/my settings.toml")}, UsageError, "my settings.toml"),
        ({"needs": (PurePosixPath("/opt/100%"),)}, UsageError, "100%"),
    ],
)
def test_what_a_unit_cannot_say_is_refused_by_name(
    changes: dict[str, object], error: type[Exception], part: str
) -> None:
    with pytest.raises(error, match=re.escape(part)):
        render(replace(EXAMPLE, **changes))  # type: ignore[arg-type]


def test_an_installation_in_a_home_is_shown_to_the_service_and_nothing_else_of_the_home() -> None:
    needs = ("/home/anna/tts/.venv", "/home/anna/tts", "/usr/lib/python3.11", "/tmp/models", "/homeless")
    unit = render(replace(EXAMPLE, needs=tuple(map(PurePosixPath, needs))))["tts-workers.service"]
    assert re.findall(r"^BindReadOnlyPaths=(.*)$", unit, re.MULTILINE) == ["/home/anna/tts", "/tmp/models"]
    assert value(unit, "ProtectHome") == "tmpfs"
    assert value(render(EXAMPLE)["tts-workers.service"], "ProtectHome") == "yes"


def test_directories_are_needed_under_both_their_names(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    needs = needs_of([str(tmp_path / "link")], [str(tmp_path / "src" / "package" / "__init__.py"), None], [""])
    assert [str(need) for need in needs] == [f"{tmp_path}/link", f"{tmp_path}/real", f"{tmp_path}/src"]


def install(*flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tts_service", "install-units", *flags]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_install_units_keeps_settings_that_are_there_and_takes_the_address_from_them(tmp_path: Path) -> None:
    first = install("--root", str(tmp_path))
    assert first.returncode == 0, first.stderr
    assert "systemctl enable --now tts-service.target" in first.stdout
    config = tmp_path / "etc/tts-service/config.toml"
    assert config.read_text() == (FOLDER.parents[1] / "config/default.toml").read_text()
    config.write_text('[gateway]\nhost = "::"\nport = 8080\n')
    assert install("--root", str(tmp_path)).returncode == 0
    assert config.read_text().startswith("[gateway]")
    assert "ListenStream=[::]:8080\n" in (tmp_path / "etc/systemd/system/tts-gateway.socket").read_text()
    assert sys.executable in (tmp_path / "etc/systemd/system/tts-workers.service").read_text()


def test_install_units_names_what_it_cannot_write_and_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "etc").write_text("no directory")
    result = install("--root", str(tmp_path))
    assert result.returncode == ExitCode.CANNOT_WRITE
    assert str(tmp_path / "etc") in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert install("--config", "relative.toml").returncode == ExitCode.USAGE
