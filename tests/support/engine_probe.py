"""Run as a program in a process of its own: speaks with one engine as a worker would, and prints what was seen as JSON.

    python engine_probe.py CASE

Every attempt to connect, to resolve a name or to write a file is noted, from before the engine is imported.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import sys
from typing import Any

attempts: list[str] = []

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_NETWORK = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "urllib.Request")
_FILES = ("os.mkdir", "os.rename", "os.remove", "shutil.copyfile", "tempfile.mkstemp", "tempfile.mkdtemp")


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _NETWORK or event in _FILES:
        attempts.append(f"{event} {arguments[:1]}")
    elif event == "open":
        path, _, flags = arguments
        if isinstance(flags, int) and flags & _WRITING and path != os.devnull:
            attempts.append(f"open for writing {path}")


def _live_threads() -> int:
    return len(os.listdir("/proc/self/task"))


def _rss_kib() -> int:
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def _sockets() -> int:
    links = []
    for name in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:
            continue
    return sum(link.startswith("socket:") for link in links)


def main(name: str) -> None:
    """Load, warm up, speak the jobs of the case, and tell."""
    from support.engine_cases import CASES, TEXTS, job_for, speak
    from tts_workers.warm_up import warm_up

    case = CASES[name]
    engine = case.loaded()
    warm_up(engine)
    threads, rss_kib, digest = [_live_threads()], [], hashlib.sha256()
    # The longest of the texts first: memory for it is taken once.
    texts = sorted(TEXTS, key=len, reverse=True)
    for n in range(case.jobs):
        # Each once, then the two shortest in turn.
        text = texts[n] if n < len(texts) else texts[-1 - n % 2]
        spoken = speak(engine, job_for(engine, text, seed=n % 3))
        if n < len(texts):
            digest.update(spoken.samples.tobytes())
        if (n + 1) % (case.jobs // 3) == 0:
            threads.append(_live_threads())
            rss_kib.append(_rss_kib())
    found = {"threads": threads, "rss_kib": rss_kib, "digest": digest.hexdigest()}
    json.dump(found | {"attempts": attempts, "sockets": _sockets()}, sys.stdout)


if __name__ == "__main__":
    sys.addaudithook(_note)
    main(sys.argv[1])
