"""Other servers of Piper voices: each in a virtual environment of its own, started on a free port of this machine."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tts_service.bench.apis import check_answers
from tts_service.bench.target import Server
from tts_service.errors import CannotStart, Unavailable

READY_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 10.0
LOOK_S = 0.1
_INSTALLED = "installed.txt"

# A comparison that is killed leaves no server behind. The signal survives the exec.
_START = """
import os, signal, sys
from tts_service.orphans import die_with_parent
die_with_parent(int(sys.argv[1]), signal.SIGKILL)
os.execv(sys.argv[2], sys.argv[2:])
"""


@dataclass(frozen=True)
class Peer:
    """One kind of server."""

    api: str
    requirements: tuple[str, ...]
    arguments: Callable[[Path, str, int], list[str]]
    """Of its python, for the voices' directory, the voice and a port."""
    settings: Callable[[Path, str], dict[str, str]] = lambda voices, voice: {}
    """Contents of files in its own directory, by name."""
    streams: bool = True
    """Whether it sends audio while it is made, where its API can."""


PEERS = {
    "piper-http": Peer(
        "piper-http",
        ("piper-tts[http]>=1.3,<2",),
        lambda voices, voice, port: [
            *("-m", "piper.http_server", "--host=127.0.0.1", f"--port={port}"),
            *(f"--model={voices / voice}.onnx", f"--data-dir={voices}"),
        ],
    ),
    "wyoming-piper": Peer(
        "wyoming",
        ("wyoming-piper>=2,<3",),
        lambda voices, voice, port: [
            *("-m", "wyoming_piper", f"--uri=tcp://127.0.0.1:{port}", f"--voice={voice}", f"--data-dir={voices}"),
        ],
    ),
    "local-tts-studio": Peer(
        "openai",
        ("local-tts-studio>=1,<2", "piper-tts>=1.3,<2"),
        lambda voices, voice, port: [
            *("-c", "from local_tts.cli import main; main()", "--host=127.0.0.1", f"--port={port}"),
        ],
        lambda voices, voice: {
            "settings.json": json.dumps({"voices_dir": str(voices), "api_default_voice": voice, "device": "cpu"})
        },
        streams=False,
    ),
}


def install(peer: Peer, directory: Path) -> Path:
    """Return the python of the peer's environment, made and filled where it is not there yet."""
    python = directory / "bin" / "python"
    wanted = "\n".join(peer.requirements) + "\n"
    # Written last: an environment that was only half made has none.
    marker = directory / _INSTALLED
    if not marker.exists() or marker.read_text() != wanted:
        _run([sys.executable, "-m", "venv", "--clear", str(directory)])
        _run([str(python), "-m", "pip", "install", "--quiet", *peer.requirements])
        marker.write_text(wanted)
    return python


def versions(python: Path) -> str:
    """Return the versions of the packages that matter, one after the other."""
    frozen = subprocess.run([str(python), "-m", "pip", "freeze"], capture_output=True, text=True, check=True).stdout
    names = ("piper-tts==", "wyoming-piper==", "local-tts-studio==", "onnxruntime==", "numpy==")
    return ", ".join(line.replace("==", " ") for line in frozen.splitlines() if line.startswith(names))


@contextmanager
def running(peer: Peer, python: Path, voices: Path, voice: str, directory: Path) -> Iterator[Server]:
    """Give a server that listens. CannotStart with its last words where it ends before that.

    `directory` is its own, for its log and settings.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in peer.settings(voices, voice).items():
        (directory / name).write_text(text, encoding="utf-8")
    log = directory / "log"
    port = _free_port()
    url = f"{'tcp' if peer.api == 'wyoming' else 'http'}://127.0.0.1:{port}"
    command = [str(python), *peer.arguments(voices, voice, port)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", _START, str(os.getpid()), *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=directory,
            env={**os.environ, "LOCAL_TTS_DATA_DIR": str(directory)},
        )
    try:
        _wait_answers(peer, url, process, log)
        yield Server(url, process.pid, peer.api)
    finally:
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_answers(peer: Peer, url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + READY_TIMEOUT_S
    while time.monotonic() < deadline:
        try:
            return check_answers(peer.api, url)
        except Unavailable:
            try:
                status = process.wait(LOOK_S)
            except subprocess.TimeoutExpired:
                continue
            words = log.read_text(errors="replace").strip().splitlines() or ["it said nothing"]
            raise CannotStart(f"the {peer.api} server ended with status {status}: {words[-1]}") from None
    raise Unavailable(f"the {peer.api} server did not listen at {url} after {READY_TIMEOUT_S:.0f} s; see {log}")


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        words = (done.stderr or done.stdout).strip().splitlines() or ["it said nothing"]
        raise CannotStart(f"{' '.join(command)} failed: {words[-1]}")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
