"""A service that cannot work says why in one line, and ends with a code that tells scripts the same."""

from __future__ import annotations

import importlib.util
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from support.service import Service, engine_options, running
from tts_service.errors import ExitCode

pytestmark = pytest.mark.system


def check_end(service: Service, code: ExitCode, *parts: str) -> None:
    """The service has ended with this code, and one line of error that has all the parts."""
    assert service.process.wait(20) == code
    log = service.text_of_log()
    (line,) = [line for line in log.splitlines() if line.startswith("tts-service: error: ")]
    for part in parts:
        assert part in line
    assert "Traceback" not in log


def test_a_port_in_use_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with running("--engine", "tone", "--port", port) as service:
            check_end(service, ExitCode.CANNOT_START, port, "--port")
            assert len(service.text_of_log().splitlines()) == 1


def test_a_runtime_directory_in_use_is_one_line_and_the_first_service_goes_on(tone: Service) -> None:
    with running("--engine", "tone", "--runtime-dir", str(tone.runtime_dir), wait=False) as second:
        check_end(second, ExitCode.CANNOT_START, str(tone.runtime_dir), "--runtime-dir")
        assert len(second.text_of_log().splitlines()) == 1, "nothing was announced before the refusal"
    assert tone.pcm("Still mine.")


def test_a_runtime_directory_that_is_open_to_others_is_refused_and_not_touched(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with running("--engine", "tone", "--runtime-dir", str(tmp_path), wait=False) as service:
        check_end(service, ExitCode.CANNOT_START, str(tmp_path), "mode 755")
    assert tmp_path.stat().st_mode & 0o777 == 0o755
    assert list(tmp_path.iterdir()) == []


def test_a_runtime_directory_with_too_long_a_path_is_one_line(tmp_path: Path) -> None:
    with running("--engine", "tone", "--runtime-dir", str(tmp_path / ("x" * 100)), wait=False) as service:
        check_end(service, ExitCode.CANNOT_START, "107", "--runtime-dir")


def test_a_models_directory_that_the_engine_does_not_take_is_one_line(tmp_path: Path) -> None:
    with running("--engine", "hibari", "--models", str(tmp_path), wait=False) as service:
        check_end(service, ExitCode.BAD_SETTINGS, "hibari", str(tmp_path))


@pytest.mark.parametrize(
    ("env", "part"),
    [
        (engine_options(stepping="sideways"), "turns"),
        (engine_options(no_such_option=1), "no_such_option"),
        ({"TTS_SERVICE_GATEWAY_PORT": "eighty"}, "TTS_SERVICE_GATEWAY_PORT"),
        ({"TTS_SERVICE_NO_SUCH_KEY": "1"}, "TTS_SERVICE_NO_SUCH_KEY"),
        ({"TTS_SERVICE_GATEWAY_THREADS": "8"}, "gateway.max_requests"),
        ({"TTS_SERVICE_CONFIG": "/no/such/file.toml"}, "/no/such/file.toml"),
    ],
)
def test_a_wrong_setting_is_one_line_that_names_it(env: dict[str, str], part: str) -> None:
    with running("--engine", "tone", env={"TTS_SERVICE_GATEWAY_HOST": "127.0.0.1"} | env, wait=False) as service:
        # The flag --port 0 would hide the wrong port.
        check_end(service, ExitCode.BAD_SETTINGS, part)


def test_an_engine_that_cannot_be_loaded_ends_the_service_with_its_code(tmp_path: Path) -> None:
    (tmp_path / "hibari").mkdir()
    (tmp_path / "hibari" / "__init__.py").write_text("raise ImportError('this installation is broken')\n")
    with running("--engine", "hibari", env={"PYTHONPATH": str(tmp_path)}, wait=False) as service:
        assert service.process.wait(30) == ExitCode.ENGINE_BROKEN
        log = service.text_of_log()
        assert "this installation is broken" in log
        assert "its engine cannot be loaded" in log


def test_dep_06_a_model_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    spec = importlib.util.find_spec("hibari")
    assert spec is not None
    assert spec.origin is not None
    shutil.copytree(Path(spec.origin).parent, tmp_path / "hibari")
    models = sorted((tmp_path / "hibari").rglob("*.onnx"))
    for model in models:
        model.write_bytes(b"This is no model.")
    with running("--engine", "hibari", env={"PYTHONPATH": str(tmp_path)}, wait=False) as service:
        assert service.process.wait(30) == ExitCode.ENGINE_BROKEN
        assert any(f"cannot load {model}" in service.text_of_log() for model in models)


def test_an_unknown_flag_is_one_line() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "tts_service", "serve", "--no-such-flag"], capture_output=True, text=True, timeout=30
    )
    assert result.returncode == ExitCode.USAGE
    assert len(result.stderr.splitlines()) == 1
    assert "--no-such-flag" in result.stderr
