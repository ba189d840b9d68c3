"""CPU time of the processes of a server on this machine, from /proc."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from tts_service import procfs
from tts_service.bench.readings import Reading, dispatcher_pid
from tts_service.bench.target import Server


class LocalCpu(msgspec.Struct, frozen=True):
    """CPU time of a server's processes."""

    workers_s: float
    dispatcher_s: float
    gateway_s: float

    def since(self, before: LocalCpu) -> LocalCpu:
        """Return what was used after `before` was read."""
        return LocalCpu(
            self.workers_s - before.workers_s,
            self.dispatcher_s - before.dispatcher_s,
            self.gateway_s - before.gateway_s,
        )

    @property
    def total_s(self) -> float:
        """Of all processes."""
        return self.workers_s + self.dispatcher_s + self.gateway_s


class LocalProcesses:
    """The processes of one server, found once."""

    def __init__(self, workers: list[int], dispatcher: int, gateway: list[int], top: int = 0) -> None:
        self._workers = workers
        self._dispatcher = dispatcher
        self._gateway = gateway
        self.roots = [top] if top else [dispatcher, *gateway]
        """Below which all of the server's processes are."""

    @classmethod
    def of(cls, server: Server, reading: Reading) -> LocalProcesses | None:
        """Return the processes of a server; None where it is not on this machine, or not laid out like ours."""
        dispatcher = dispatcher_pid(server.url) if server.pid or _is_loopback(server.url) else 0
        if not dispatcher or _name(dispatcher) != "tts-workers":
            return None
        top = server.pid or _parent(dispatcher)
        gateways = [pid for pid in procfs.children(top) if _name(pid) == "tts-gateway"]
        if not gateways:
            return None
        family = gateways + [child for pid in gateways for child in procfs.children(pid)]
        # Under systemd the halves' parent is not the server's.
        serve = top if server.pid or _name(top) == "tts-service" else 0
        return cls([worker.pid for worker in reading.workers], dispatcher, family, serve)

    def read(self) -> LocalCpu:
        """Return their CPU time so far."""
        return LocalCpu(
            workers_s=sum(map(procfs.cpu_seconds, self._workers)),
            dispatcher_s=procfs.cpu_seconds(self._dispatcher),
            gateway_s=sum(map(procfs.cpu_seconds, self._gateway)),
        )


def _is_loopback(url: str) -> bool:
    host = urlsplit(url if "//" in url else f"http://{url}").hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _name(pid: int) -> str:
    return _text(pid, "comm").strip()


def _parent(pid: int) -> int:
    # Second field after the name, which may hold spaces and parentheses (proc(5)).
    fields = _text(pid, "stat").rpartition(")")[2].split()
    return int(fields[1]) if len(fields) > 1 else 0


def _text(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text()
    except OSError:
        return ""
