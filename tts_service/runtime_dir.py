"""The private directory in which the two halves of one service meet: socket paths, ownership, single instance."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from tts_service.errors import CannotStart

# sun_path of a UNIX socket holds 108 bytes with the closing zero (unix(7)).
MAX_SOCKET_PATH_BYTES = 107


class RuntimeDir:
    """Paths below one directory, and the locks that keep a second instance out. Constructing it touches nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._locks: list[int] = []

    @classmethod
    def choose(cls, setting: str, environ: Mapping[str, str]) -> RuntimeDir:
        """Return the directory that `service.runtime_dir` stands for; both halves must come to the same answer."""
        if setting:
            return cls(Path(setting).absolute())
        if environ.get("RUNTIME_DIRECTORY"):
            return cls(Path(environ["RUNTIME_DIRECTORY"].split(":")[0]))
        if environ.get("XDG_RUNTIME_DIR"):
            return cls(Path(environ["XDG_RUNTIME_DIR"]) / "tts-service")
        return cls(Path(f"/tmp/tts-service-{os.getuid()}"))

    @property
    def gateway_endpoint(self) -> str:
        """ZeroMQ endpoint at which the dispatcher hears gateways."""
        return f"ipc://{self.path / 'gateways.sock'}"

    @property
    def worker_endpoint(self) -> str:
        """ZeroMQ endpoint at which the dispatcher hears its workers."""
        return f"ipc://{self.path / 'workers.sock'}"

    def prepare(self) -> None:
        """Make the directory, private to this user, if it is not there.

        CannotStart where it is somebody else's, or open to others, or its path is too long. One that is there is left
        as it is.
        """
        longest = len(os.fsencode(self.path / "gateways.sock"))
        if longest > MAX_SOCKET_PATH_BYTES:
            raise CannotStart(
                f"runtime_dir {self.path}: socket paths in it have {longest} bytes, the limit is "
                f"{MAX_SOCKET_PATH_BYTES}; choose a shorter --runtime-dir"
            )
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = self.path.lstat()
        except OSError as error:
            raise CannotStart(
                f"cannot make runtime_dir {self.path}: {error.strerror}; choose another --runtime-dir"
            ) from error
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise CannotStart(
                f"runtime_dir {self.path} is not a directory of uid {os.getuid()}; choose another --runtime-dir"
            )
        mode = stat.S_IMODE(found.st_mode)
        if mode & 0o077:
            # It may be anybody's, /etc for example: its mode is not ours to change.
            raise CannotStart(
                f"runtime_dir {self.path} is open to others (mode {mode:o}): expected a directory of its own with mode "
                "700, or one that does not exist yet"
            )

    def lock(self, role: str) -> None:
        """Hold the directory for one process in this role until it ends.

        A second bind of a live ipc path silently takes it over, so the lock comes before the bind. CannotStart where
        another process holds it.
        """
        try:
            handle = os.open(self.path / f"{role}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise CannotStart(f"cannot write to runtime_dir {self.path}: {error.strerror}") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, 32, 0).decode(errors="replace").strip()
            os.close(handle)
            raise CannotStart(
                f"another tts-service ({role}, pid {holder or 'unknown'}) is using {self.path}; stop it, or give "
                "this one its own --runtime-dir"
            ) from None
        try:
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:
            os.close(handle)
            raise CannotStart(f"cannot write to runtime_dir {self.path}: {error.strerror}") from error
        self._locks.append(handle)

    def unlock(self) -> None:
        """Release the locks of this process."""
        while self._locks:
            os.close(self._locks.pop())
