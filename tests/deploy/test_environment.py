"""Environments that are missing something: the service starts and speaks, or refuses with one line and a named code.

Whatever is taken away is taken from the service alone: by its own mounts, limits, groups and variables.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from support.control_groups import limited
from support.piper_voices import JOE, joe_directory
from support.raw_http import RawClient
from support.service import Service, engine_options, running, wait_until
from support.synthetic_vits import write_voice
from tts_service.errors import ExitCode

pytestmark = pytest.mark.system

TONE = ("--engine", "tone")
NOBODY = 65534
TEXT = "Größe and naïveté, said in any locale."
# A file system of one's own: what is mounted in it is seen by the command alone.
OWN_MOUNTS = ("unshare", "--mount", "--propagation", "private", "sh", "-c")


def shell(script: str) -> tuple[str, ...]:
    """Return a prefix that runs a script among mounts of its own, and then the command."""
    return (*OWN_MOUNTS, f'{script} && exec "$0" "$@"')


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A path in the machine's memory for a runtime directory, which does not exist yet."""
    path = Path(f"/dev/shm/tts-test-{os.getpid()}")
    yield path
    if path.exists():
        for file in path.iterdir():
            file.unlink()
        path.rmdir()


def speaks(service: Service) -> None:
    """The service answers, and complains of nothing."""
    assert service.pcm(TEXT)
    log = service.text_of_log()
    assert "Traceback" not in log
    assert "ERROR" not in log


def refuses(service: Service, code: ExitCode, *parts: str) -> None:
    """The service has ended with this code, and one line of error that has all the parts."""
    assert service.process.wait(30) == code, service.text_of_log()
    log = service.text_of_log()
    (line,) = [line for line in log.splitlines() if line.startswith("tts-service: error: ")]
    assert all(part in line for part in parts), line
    assert "Traceback" not in log


@pytest.mark.parametrize(
    "prefix",
    [
        pytest.param(("env", "-u", "HOME"), id="no HOME"),
        pytest.param(("env", "HOME=/nonexistent", "XDG_CACHE_HOME=/nonexistent"), id="a HOME that is not there"),
        pytest.param(("env", "-i", "PATH=/usr/bin:/bin", "LC_ALL=C"), id="locale C"),
        pytest.param(("env", "-i", "PATH=/usr/bin:/bin", "LC_ALL=POSIX", "PYTHONUTF8=0"), id="locale POSIX, no UTF-8"),
        pytest.param(("env", "-i", "LC_ALL=xx_XX.ISO-8859-1"), id="a locale that is not there"),
        pytest.param(("sh", "-c", 'umask 0777; exec "$0" "$@"'), id="umask 0777"),
        pytest.param(("sh", "-c", 'exec 0<&-; exec "$0" "$@"'), id="no standard input"),
        pytest.param(("prlimit", "--core=0", "--stack=1048576"), id="small stacks"),
    ],
)
def test_the_service_needs_nothing_of_its_users_environment(prefix: tuple[str, ...], tmp_path: Path) -> None:
    with running(*TONE, prefix=prefix) as service:
        speaks(service)


def test_a_file_system_that_is_read_only_is_enough(in_memory: Path) -> None:
    prefix = shell("mount -o remount,bind,ro /")
    with running(*TONE, "--runtime-dir", str(in_memory), prefix=prefix) as service:
        speaks(service)
        for process in service.processes():
            mounts = Path(f"/proc/{process.pid}/mountinfo").read_text().splitlines()
            assert next(line.split()[5] for line in mounts if line.split()[4] == "/").startswith("ro")


def test_a_runtime_directory_on_a_read_only_file_system_is_one_line(tmp_path: Path) -> None:
    prefix = shell("mount -o remount,bind,ro /")
    with running(*TONE, "--runtime-dir", str(tmp_path / "run"), prefix=prefix) as service:
        refuses(service, ExitCode.CANNOT_START, str(tmp_path / "run"), "Read-only file system")


def test_a_runtime_directory_on_a_full_disk_is_one_line(tmp_path: Path) -> None:
    script = f"mount -t tmpfs -o size=64k full {tmp_path} && {{ cat /dev/zero > {tmp_path}/filler; true; }} 2>/dev/null"
    with running(*TONE, "--runtime-dir", str(tmp_path / "run"), prefix=shell(script)) as service:
        refuses(service, ExitCode.CANNOT_START, str(tmp_path / "run"), "No space left on device")


def test_a_log_on_a_full_disk_ends_nothing() -> None:
    with running(*TONE) as service:
        # The same file as the service's log, from now on on a disk that takes nothing.
        port, runtime_dir = service.url.rpartition(":")[2], service.runtime_dir
        service.stop()
    flags = [*TONE, "--port", port, "--runtime-dir", str(runtime_dir)]
    command = [sys.executable, "-m", "tts_service", "serve", *flags]
    with open("/dev/full", "wb") as full:
        process = subprocess.Popen(command, stdout=full, stderr=full)
    try:
        service.process = process
        service.wait_ready()
        assert service.pcm(TEXT)
        process.terminate()
        assert process.wait(20) in (ExitCode.OK, 120), "120: Python could not empty its own buffers"
    finally:
        process.kill()
        process.wait()


def test_a_runtime_directory_of_another_user_is_one_line(tmp_path: Path) -> None:
    foreign = tmp_path / "run"
    foreign.mkdir(mode=0o700)
    os.chown(foreign, NOBODY, NOBODY)
    with running(*TONE, "--runtime-dir", str(foreign)) as service:
        refuses(service, ExitCode.CANNOT_START, str(foreign), f"uid {os.getuid()}")
    assert foreign.stat().st_uid == NOBODY


def test_a_file_in_place_of_the_runtime_directory_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("no directory")
    with running(*TONE, "--runtime-dir", str(tmp_path / "run")) as service:
        refuses(service, ExitCode.CANNOT_START, str(tmp_path / "run"))


def test_runtime_directory_sockets_that_a_dead_service_left_are_taken_over(tmp_path: Path) -> None:
    with running(*TONE) as first:
        directory = first.runtime_dir
        names = sorted(path.name for path in directory.iterdir())
        first.process.kill()
        first.process.wait()
        with running(*TONE, "--runtime-dir", str(directory)) as second:
            speaks(second)
            assert sorted(path.name for path in directory.iterdir()) == names


@pytest.mark.parametrize("limit", [8, 20, 64, 191])
def test_too_few_open_files_are_one_line_that_says_how_many_are_needed(limit: int) -> None:
    with running(*TONE, prefix=("prlimit", f"--nofile={limit}:{limit}")) as service:
        if limit > 8:
            refuses(service, ExitCode.CANNOT_START, f"{limit} open files", "192")
        else:
            # The interpreter itself has too few.
            assert service.process.wait(10) != 0


def test_a_soft_limit_of_open_files_is_raised_as_far_as_the_hard_one_lets() -> None:
    with running(*TONE, prefix=("prlimit", "--nofile=64:200")) as service:
        speaks(service)
        gateway = service.named("tts-gateway")[-1]
        assert gateway.rlimit(psutil.RLIMIT_NOFILE)[0] == 200


def test_more_connections_than_open_files_wait_and_harm_nobody() -> None:
    with running(*TONE, prefix=("prlimit", "--nofile=200:200")) as service:
        clients = [RawClient(service) for _ in range(180)]
        for client in clients:
            client.socket.sendall(b"G")
        wait_until(lambda: service.named("tts-gateway")[-1].num_fds() > 60, 10.0, "many connections")
        for client in clients:
            client.socket.close()
        wait_until(service.is_ready, 20.0, "ready again")
        speaks(service)


def test_too_few_tasks_are_one_line_that_says_how_many_are_needed() -> None:
    with limited(tasks=40) as prefix, running(*TONE, prefix=prefix) as service:
        refuses(service, ExitCode.CANNOT_START, "pids.max", "gateway.threads = 64")


def test_as_many_tasks_as_it_says_are_enough() -> None:
    few = {"TTS_SERVICE_GATEWAY_THREADS": "8", "TTS_SERVICE_GATEWAY_MAX_REQUESTS": "4"}
    with limited(tasks=40) as prefix, running(*TONE, env=few, prefix=prefix) as service:
        speaks(service)


def test_a_time_of_day_that_jumps_is_not_noticed(tmp_path: Path) -> None:
    source = Path(__file__).parents[1] / "support" / "jumping_clock.c"
    library = tmp_path / "jumping_clock.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source)], check=True)
    env = {"LD_PRELOAD": str(library)} | engine_options(step_cost_s=0.01)
    with running(*TONE) as steady:
        expected = steady.pcm(TEXT * 20, seed=1)
    with running(*TONE, env=env) as service:
        pids = [worker["pid"] for worker in service.workers()]
        assert service.pcm(TEXT * 20, seed=1) == expected
        assert service.pcm(TEXT, timeout=30) == service.pcm(TEXT)
        assert [worker["pid"] for worker in service.workers()] == pids
        times = {line[:13] for line in service.text_of_log().splitlines() if line[:2] == "20"}
        assert len(times) > 1, "the clock has jumped"
        assert "ERROR" not in service.text_of_log()


def damaged(kind: str, folder: Path) -> str:
    """Put a voice that cannot be used into a folder; return what the error must say."""
    model, config = folder / f"{JOE}.onnx", folder / f"{JOE}.onnx.json"
    for path in (model, config):
        path.write_bytes((joe_directory() / path.name).read_bytes())
    if kind == "truncated model":
        model.write_bytes(model.read_bytes()[:100_000])
    elif kind == "empty model":
        model.write_bytes(b"")
    elif kind == "foreign model":
        model.write_bytes(b"<!DOCTYPE html><title>404</title>")
    elif kind == "truncated config":
        config.write_bytes(config.read_bytes()[:200])
    elif kind == "missing config":
        config.unlink()
    elif kind == "no model":
        model.unlink()
    return str(folder) if kind == "no model" else JOE


@pytest.mark.parametrize(
    "kind", ["truncated model", "empty model", "foreign model", "truncated config", "missing config", "no model"]
)
def test_a_damaged_voice_ends_the_start_and_is_named(kind: str, tmp_path: Path) -> None:
    part = damaged(kind, tmp_path)
    with running("--engine", "piper", "--models", str(tmp_path), "--workers", "1", wait=False) as service:
        assert service.process.wait(60) in (ExitCode.ENGINE_BROKEN, ExitCode.BAD_SETTINGS), service.text_of_log()
        log = service.text_of_log()
        assert part in log
        assert "Traceback" not in log


def test_dep_06_a_voice_that_may_only_be_read_is_enough_and_one_that_may_not_is_named(tmp_path: Path) -> None:
    prefix = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "env")
    probe = [*prefix, sys.executable, "-c", "import tts_service, tts_workers, numpy"]
    if subprocess.run(probe, capture_output=True, check=False, cwd="/").returncode != 0:
        # An installation that only root can read cannot be run by others; the files themselves can be tried all the
        # same, since root without this capability is like anybody else.
        prefix = ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all")
    folder = tmp_path / "models"
    write_voice(folder, "anna")
    for parent in (folder, *list(folder.parents)[:3]):
        parent.chmod(0o755)
    files = sorted(folder.iterdir())
    for file in files:
        file.chmod(0o444)
    uid = NOBODY if f"--reuid={NOBODY}" in prefix else os.getuid()
    run = tmp_path / "run"
    run.mkdir(mode=0o700)
    os.chown(run, uid, -1)
    flags = ("--engine", "piper", "--models", str(folder), "--workers", "1", "--runtime-dir")
    with running(*flags, str(run), prefix=prefix, env=engine_options(cache="")) as service:
        assert service.pcm("a")
    for file in files:
        os.chown(file, NOBODY - 1 if uid == 0 else 0, -1)
        file.chmod(0o400)
    with running(*flags, str(run), prefix=prefix, env=engine_options(cache=""), wait=False) as service:
        assert service.process.wait(60) in (ExitCode.ENGINE_BROKEN, ExitCode.BAD_SETTINGS), service.text_of_log()
        assert "anna" in service.text_of_log()
        assert "Permission denied" in service.text_of_log()
