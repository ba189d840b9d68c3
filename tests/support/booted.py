"""A machine booted by systemd for tests: systemd-nspawn over an overlay of this machine's own root; needs root.

What is written inside goes to the memory of the test and is gone afterwards. The network is this machine's loopback.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from support.service import Service, wait_until
from tts_service import procfs

BOOT_TIMEOUT_S = 60.0


class Booted:
    """A booted machine. `root` is its file system, seen from outside."""

    def __init__(self, root: Path, init_pid: int) -> None:
        self.root = root
        self._init_pid = init_pid

    def run(self, *command: str, check: bool = True, timeout_s: float = 120.0) -> str:
        """Run a command inside, as root; return what it wrote."""
        inside = ["nsenter", "--target", str(self._init_pid), "--mount", "--uts", "--ipc", "--pid", "--cgroup", "--"]
        done = subprocess.run([*inside, *command], capture_output=True, text=True, timeout=timeout_s, check=False)
        assert not check or done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def install(self, config: str) -> None:
        """Install the service with these settings, by the product's own command, and have systemd read the units."""
        path = self.root / "etc/tts-service/config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(config)
        self.run(sys.executable, "-P", "-m", "tts_service", "install-units")
        self.run("systemd-sysusers", "/etc/sysusers.d/tts-service.conf")
        self.run("systemctl", "daemon-reload")

    def drop_in(self, unit: str, text: str) -> None:
        """Change a unit as an administrator would."""
        path = self.root / f"etc/systemd/system/{unit}.d/test.conf"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.run("systemctl", "daemon-reload")

    def show(self, unit: str, name: str) -> str:
        """Return a property of a unit."""
        return self.run("systemctl", "show", "--value", "--property", name, unit).strip()

    def main_pid(self, unit: str) -> int:
        """Return the main process of a unit, by its number inside; 0 where there is none."""
        return int(self.show(unit, "MainPID"))

    def log(self, unit: str) -> str:
        """Return what a unit has logged."""
        return self.run("journalctl", "--no-pager", "--output", "cat", "--unit", unit)


class BootedService(Service):
    """The service on a booted machine, at an address of this one's loopback."""

    def __init__(self, url: str) -> None:
        self.url = url


@contextmanager
def booted() -> Iterator[Booted]:
    """Boot a machine; it ends afterwards, whatever happened."""
    with tempfile.TemporaryDirectory(prefix="tts-boot-") as directory:
        base = Path(directory)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tts-boot", directory], check=True)
        try:
            root, upper, work = (base / name for name in ("root", "upper", "work"))
            for folder in (root, upper, work):
                folder.mkdir()
            options = f"lowerdir=/,upperdir={upper},workdir={work}"
            subprocess.run(["mount", "-t", "overlay", "-o", options, "overlay", str(root)], check=True)
            try:
                _prepare(root)
                yield from _boot(root, base / "log")
            finally:
                subprocess.run(["umount", "--lazy", str(root)], check=True)
        finally:
            subprocess.run(["umount", "--lazy", directory], check=True)


def _prepare(root: Path) -> None:
    """Have nothing started but systemd itself, and nothing cleaned up."""
    (root / "etc/machine-id").unlink(missing_ok=True)
    (root / "etc/machine-id").write_text("0123456789abcdef0123456789abcdef\n")
    for name in ("tmpfiles.d/tmp.conf", "systemd/system/systemd-firstboot.service"):
        path = root / "etc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to("/dev/null")


def _boot(root: Path, log: Path) -> Iterator[Booted]:
    command = ["systemd-nspawn", "--quiet", "--boot", "--directory", str(root), "--register=no", "--keep-unit",
               "--console=pipe", f"--machine=tts-{os.getpid()}", *_other_mounts(),
               "systemd.unit=basic.target"]  # fmt: skip
    environment = dict(os.environ) | {"SYSTEMD_NSPAWN_TMPFS_TMP": "0"}
    with log.open("wb") as output:
        nspawn = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment, start_new_session=True
        )
    init_pid = 0
    try:
        wait_until(lambda: _init_of(nspawn.pid) or nspawn.poll() is not None, BOOT_TIMEOUT_S, "the container")
        assert nspawn.poll() is None, log.read_text()
        init_pid = _init_of(nspawn.pid)
        machine = Booted(root, init_pid)
        wait_until(lambda: _is_up(machine), BOOT_TIMEOUT_S, f"the boot: {log.read_text()[-2000:]}")
        yield machine
    finally:
        # The end of a PID namespace's first process is the end of all.
        if nspawn.poll() is None:
            os.kill(init_pid or nspawn.pid, signal.SIGKILL)
        nspawn.wait(30)


def _init_of(nspawn_pid: int) -> int:
    """Return the machine's first process once it is systemd, as this machine counts; 0 before."""
    children = [psutil.Process(pid) for pid in procfs.children(nspawn_pid)]
    return next((child.pid for child in children if child.name() == "systemd"), 0)


def _is_up(machine: Booted) -> bool:
    return machine.run("systemctl", "is-system-running", check=False).strip() in ("running", "degraded")


def _other_mounts() -> list[str]:
    """Return the flags that show inside what is not on the root's own file system."""
    needed = {Path(sys.prefix), Path(sys.base_prefix), *(Path(path) for path in sys.path if path)}
    elsewhere = {path for path in needed if path.exists() and path.stat().st_dev != Path("/").stat().st_dev}
    return [f"--bind-ro={path}" for path in sorted(elsewhere)]
