"""Networks of one's own for tests: a proxy and nodes, each with its own interfaces, joined by virtual cables.

Needs root. This machine is 198.18.0.1, the proxy 198.18.0.2; node n (from 1) is 198.18.n.2, behind the proxy.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

PROXY = "198.18.0.2"


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stderr}"


class Network:
    """One network namespace, held by a process that sleeps in it."""

    def __init__(self) -> None:
        self._holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        own = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{self._holder.pid}/ns/net") == own:
            assert self._holder.poll() is None, "unshare --net failed"
        self.run("ip", "link", "set", "lo", "up")

    @property
    def pid(self) -> str:
        """Of a process in it."""
        return str(self._holder.pid)

    @property
    def prefix(self) -> tuple[str, ...]:
        """The beginning of a command line that runs the rest of it inside."""
        return ("nsenter", f"--net=/proc/{self.pid}/ns/net")

    def run(self, *command: str) -> None:
        """Run a command inside."""
        _run(*self.prefix, *command)

    def write(self, setting: str, value: int) -> None:
        """Set a /proc/sys/net value of this network alone."""
        self.run("sh", "-c", f"echo {value} > /proc/sys/net/{setting}")

    def close(self) -> None:
        """End it, and its interfaces."""
        self._holder.kill()
        self._holder.wait()


class Networks:
    """The proxy's network and those of the nodes."""

    def __init__(self, stack: ExitStack, n_nodes: int) -> None:
        self.proxy = self._network(stack)
        self.nodes = [self._network(stack) for _ in range(n_nodes)]
        outside, inside = f"tts{os.getpid()}", "out"
        _run("ip", "link", "add", outside, "type", "veth", "peer", "name", inside, "netns", self.proxy.pid)
        _run("ip", "address", "add", "198.18.0.1/30", "dev", outside)
        _run("ip", "link", "set", outside, "up")
        self.proxy.run("ip", "address", "add", f"{PROXY}/30", "dev", inside)
        self.proxy.run("ip", "link", "set", inside, "up")
        self.proxy.write("ipv4/ip_forward", 1)
        for number, node in enumerate(self.nodes, 1):
            self.proxy.run(
                "ip", "link", "add", f"node{number}", "type", "veth", "peer", "name", "wire", "netns", node.pid
            )
            self.proxy.run("ip", "address", "add", f"198.18.{number}.1/30", "dev", f"node{number}")
            self.proxy.run("ip", "link", "set", f"node{number}", "up")
            self.mend(number)
            _run("ip", "route", "add", f"198.18.{number}.0/30", "via", PROXY)

    @staticmethod
    def _network(stack: ExitStack) -> Network:
        network = Network()
        stack.callback(network.close)
        return network

    @staticmethod
    def address(number: int) -> str:
        """Return the address of node `number`, from 1."""
        return f"198.18.{number}.2"

    def cut(self, number: int, *, silently: bool = False) -> None:
        """Take the link to a node down; or lose every packet to and from it, with no sign of it to either side."""
        node = self.nodes[number - 1]
        if silently:
            node.run("ip", "address", "flush", "dev", "wire")
        else:
            node.run("ip", "link", "set", "wire", "down")

    def mend(self, number: int) -> None:
        """Undo `cut`."""
        node = self.nodes[number - 1]
        node.run("ip", "address", "replace", f"198.18.{number}.2/30", "dev", "wire")
        node.run("ip", "link", "set", "wire", "up")
        node.run("ip", "route", "replace", "default", "via", f"198.18.{number}.1")


@contextmanager
def networks(n_nodes: int) -> Iterator[Networks]:
    """Make them; they are gone afterwards."""
    with ExitStack() as stack:
        yield Networks(stack, n_nodes)
