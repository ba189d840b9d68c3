"""The directory in which the halves meet: which one, whose, and for how many."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import zmq

from tts_service.errors import CannotStart
from tts_service.runtime_dir import MAX_SOCKET_PATH_BYTES, RuntimeDir

HOLD_THE_LOCK = """
import sys
from pathlib import Path
from tts_service.runtime_dir import RuntimeDir
directory = RuntimeDir(Path(sys.argv[1]))
directory.lock("workers")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def runtime_dir() -> Iterator[RuntimeDir]:
    """A prepared directory with a short path, as sockets need it."""
    with tempfile.TemporaryDirectory(prefix="tts-") as directory:
        made = RuntimeDir(Path(directory) / "run")
        made.prepare()
        yield made
        made.unlock()


def test_the_setting_comes_before_systemd_before_the_users_directory_before_tmp() -> None:
    environ = {"RUNTIME_DIRECTORY": "/run/tts:/run/other", "XDG_RUNTIME_DIR": "/run/user/7"}
    assert RuntimeDir.choose("/srv/run", environ).path == Path("/srv/run")
    assert RuntimeDir.choose("", environ).path == Path("/run/tts")
    del environ["RUNTIME_DIRECTORY"]
    assert RuntimeDir.choose("", environ).path == Path("/run/user/7/tts-service")
    assert RuntimeDir.choose("", {"XDG_RUNTIME_DIR": ""}).path == Path(f"/tmp/tts-service-{os.getuid()}")


def test_a_relative_setting_means_the_same_place_for_both_halves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert RuntimeDir.choose("run", {}).path == tmp_path / "run"


def test_choosing_a_directory_touches_nothing(tmp_path: Path) -> None:
    RuntimeDir.choose(str(tmp_path / "run"), {})
    assert list(tmp_path.iterdir()) == []


def test_a_new_directory_is_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        RuntimeDir(tmp_path / "a" / "run").prepare()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a" / "run").stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o701, 0o777])
def test_a_directory_that_is_open_to_others_is_refused_and_left_as_it_is(tmp_path: Path, mode: int) -> None:
    # It may be /etc, and its mode and content everybody's.
    path = tmp_path / "run"
    path.mkdir()
    path.chmod(mode)
    (path / "passwd").touch()
    with pytest.raises(CannotStart, match=f"open to others .mode {mode:o}."):
        RuntimeDir(path).prepare()
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert [entry.name for entry in path.iterdir()] == ["passwd"]


def test_a_private_directory_that_is_there_is_used(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.mkdir(mode=0o700)
    RuntimeDir(path).prepare()
    assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_a_directory_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    with pytest.raises(CannotStart, match=f"not a directory of uid {mine + 1}"):
        RuntimeDir(tmp_path).prepare()


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_file_or_a_link_in_the_way_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "run"
    if kind == "file":
        path.touch()
    else:
        # A link would lead to a directory that another user could exchange.
        path.symlink_to(tmp_path)
    with pytest.raises(CannotStart, match="--runtime-dir"):
        RuntimeDir(path).prepare()


def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CannotStart, match="Not a directory"):
        RuntimeDir(tmp_path / "file" / "run").prepare()


def test_the_longest_path_that_is_let_through_is_the_longest_that_a_socket_can_have() -> None:
    with tempfile.TemporaryDirectory(prefix="tts-") as directory:
        room = MAX_SOCKET_PATH_BYTES - len(f"{directory}//gateways.sock")
        longest = RuntimeDir(Path(directory) / ("x" * room))
        longest.prepare()
        with zmq.Context() as context, context.socket(zmq.ROUTER) as socket:
            socket.bind(longest.gateway_endpoint)
            socket.bind(longest.worker_endpoint)
        with pytest.raises(CannotStart, match="the limit is 107"):
            RuntimeDir(Path(directory) / ("x" * (room + 1))).prepare()


def test_path_length_counts_in_bytes(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="bytes"):
        RuntimeDir(Path("/tmp") / ("ü" * 50)).prepare()
    assert not (Path("/tmp") / ("ü" * 50)).exists()


def test_a_second_instance_is_refused_and_told_who_holds_the_directory(runtime_dir: RuntimeDir) -> None:
    runtime_dir.lock("workers")
    with pytest.raises(CannotStart, match=rf"workers, pid {os.getpid()}\) is using {runtime_dir.path}"):
        RuntimeDir(runtime_dir.path).lock("workers")


def test_roles_do_not_keep_each_other_out(runtime_dir: RuntimeDir) -> None:
    runtime_dir.lock("workers")
    RuntimeDir(runtime_dir.path).lock("other")


def test_a_lock_is_free_once_its_holder_has_been_killed(runtime_dir: RuntimeDir) -> None:
    command = [sys.executable, "-c", HOLD_THE_LOCK, str(runtime_dir.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(CannotStart, match=f"pid {holder.pid}"):
            runtime_dir.lock("workers")
        holder.kill()
        holder.wait(5.0)
        runtime_dir.lock("workers")


def test_a_child_does_not_inherit_the_lock(runtime_dir: RuntimeDir) -> None:
    runtime_dir.lock("workers")
    # close_fds would hide a descriptor that is not close-on-exec.
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=False) as child:
        runtime_dir.unlock()
        second = RuntimeDir(runtime_dir.path)
        second.lock("workers")
        assert child.poll() is None
        second.unlock()
        child.communicate(timeout=5.0)


def test_a_directory_that_is_not_there_cannot_be_locked(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="No such file"):
        RuntimeDir(tmp_path / "missing").lock("workers")
