"""nginx in front of two nodes on networks of their own: one is killed, cut off, drained; clients notice nothing.

A node is the whole service; the configuration is the shipped one for several nodes. The times of the kernel's keepalive
are shorter than the shipped ones, and only in the proxy's network.
"""

from __future__ import annotations

import http.client
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from support.load import at_once
from support.networks import PROXY, Networks, networks
from support.nginx import Proxy, nginx
from support.raw_http import RawClient
from support.service import Service, engine_options, running, wait_until
from support.steady_load import TEXT, under_load

pytestmark = [pytest.mark.system, pytest.mark.timeout(180)]

PORT = 8000
RATE_HZ = 24000
# 25 seconds of audio a second for each of two workers, with little of a CPU.
ENGINE = engine_options(step_wait_s=0.01, faults=True)
# Behind a node that ends its connections when it is told to, nobody waits for longer than this.
QUICK = {"TTS_SERVICE_GATEWAY_GRACEFUL_TIMEOUT_S": "30"}


class Cluster:
    """The proxy, the nodes, and the cables."""

    def __init__(self, proxy: Proxy, nets: Networks) -> None:
        self.proxy = proxy
        self.nets = nets
        self.nodes: dict[int, Service] = {}
        self.lives = {number: ExitStack() for number in (1, 2)}

    def start(self, number: int) -> None:
        """Begin a life of a node, and wait until it is ready."""
        network = self.nets.nodes[number - 1]
        flags = ("--engine", "tone", "--workers", "2", "--host", self.nets.address(number), "--port", str(PORT))
        life = running(*flags, env=ENGINE | QUICK, prefix=network.prefix, wait=False)
        self.nodes[number] = self.lives[number].enter_context(life)
        self.nodes[number].url = f"http://{self.nets.address(number)}:{PORT}"
        self.nodes[number].wait_ready()

    def stop(self, number: int, how: signal.Signals = signal.SIGTERM) -> None:
        """End a life of a node."""
        self.nodes[number].stop(how)
        self.lives[number].close()

    def done(self, number: int) -> int:
        """Return how many segments a node has spoken."""
        return sum(worker["segments_done"] for worker in self.nodes[number].workers())

    def order(self, number: int, *words: str) -> None:
        """Run a command of the product on a node."""
        command = [sys.executable, "-m", "tts_service", *words, "--runtime-dir", str(self.nodes[number].runtime_dir)]
        subprocess.run(command, check=True, capture_output=True, timeout=60)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with networks(2) as nets:
        for name, value in (("time", 1), ("intvl", 1), ("probes", 2)):
            nets.proxy.write(f"ipv4/tcp_keepalive_{name}", value)
        nodes = [f"{nets.address(number)}:{PORT}" for number in (1, 2)]
        with nginx("several-nodes.conf", f"{PROXY}:8080", nodes, nets.proxy.prefix) as proxy:
            cluster = Cluster(proxy, nets)
            try:
                cluster.start(1)
                cluster.start(2)
                yield cluster
            finally:
                for life in cluster.lives.values():
                    life.close()


@pytest.fixture(autouse=True)
def both_serve(cluster: Cluster) -> None:
    """Each test begins when nginx gives requests to both nodes."""

    def both() -> bool:
        before = cluster.done(1), cluster.done(2)
        at_once(lambda _: cluster.proxy.speak("Hello.", response_format="pcm"), range(4))
        return cluster.done(1) > before[0] and cluster.done(2) > before[1]

    for node in cluster.nodes.values():
        node.wait_ready()
    wait_until(both, 20.0, "requests at both nodes")


def expected(cluster: Cluster) -> bytes:
    return cluster.proxy.pcm(TEXT, stream=False, seed=1)


def test_requests_go_to_the_node_with_the_fewest_in_progress(cluster: Cluster) -> None:
    before = cluster.done(1), cluster.done(2)
    at_once(lambda n: cluster.proxy.pcm(TEXT, seed=n), range(24), n_threads=4)
    shares = cluster.done(1) - before[0], cluster.done(2) - before[1]
    assert min(shares) > 0.3 * sum(shares)


def test_either_node_gives_the_same_bytes(cluster: Cluster) -> None:
    assert cluster.nodes[1].pcm(TEXT, seed=5) == cluster.nodes[2].pcm(TEXT, seed=5)


def test_a_node_that_is_killed_costs_no_buffered_request_and_is_used_again_when_it_is_back(cluster: Cluster) -> None:
    whole = expected(cluster)
    with under_load(cluster.proxy, 4) as load:
        cluster.stop(1, signal.SIGKILL)
        load.wait_for(12)
        cluster.start(1)
        wait_until(lambda: cluster.done(1) > 0, 20.0, "its first request")
    assert load.failures == []
    assert set(load.whole) == {whole}


@pytest.mark.parametrize("silently", [False, True], ids=["link down", "packets lost"])
def test_a_node_that_is_cut_off_costs_no_buffered_request(cluster: Cluster, silently: bool) -> None:
    whole = expected(cluster)
    with under_load(cluster.proxy, 4) as load:
        cluster.nets.cut(1, silently=silently)
        try:
            load.wait_for(12)
            # Those that were on the lost node have been answered by the other one when all are counted.
        finally:
            cluster.nets.mend(1)
    assert load.failures == []
    assert set(load.whole) == {whole}


def test_dep_10_life_06_a_rolling_restart_behind_nginx_costs_no_request(cluster: Cluster) -> None:
    whole = expected(cluster)
    with under_load(cluster.proxy, 4) as load:
        for number in (1, 2):
            # For an upgrade: out of use, empty, restarted, back.
            cluster.order(number, "drain")
            assert cluster.nodes[number].get("/ready")[0] == 503
            cluster.stop(number)
            cluster.start(number)
            wait_until(lambda number=number: cluster.done(number) > 0, 20.0, "its first request")
    assert load.failures == []
    assert set(load.whole) == {whole}


def test_dep_10_a_node_that_is_restarted_without_warning_costs_no_request(cluster: Cluster) -> None:
    whole = expected(cluster)
    with under_load(cluster.proxy, 4) as load:
        cluster.stop(1)
        cluster.start(1)
    assert load.failures == []
    assert set(load.whole) == {whole}


@pytest.mark.parametrize("end", ["kill", "cut", "silence"])
def test_streams_of_the_other_node_go_on_and_those_of_a_lost_one_are_seen_as_broken(cluster: Cluster, end: str) -> None:
    text = TEXT * 12
    whole = cluster.proxy.pcm(text, seed=1)
    with ExitStack() as stack:
        clients = [stack.enter_context(RawClient(cluster.proxy)) for _ in range(4)]
        for client in clients:
            client.speech(text, response_format="pcm", stream=True, seed=1)
        answers = [client.answer() for client in clients]
        wait_until(lambda: requests_of(cluster, 1) + requests_of(cluster, 2) == 4, 5.0, "both know of all")
        on_node_1 = requests_of(cluster, 1)
        assert 0 < on_node_1 < 4
        if end == "kill":
            cluster.stop(1, signal.SIGKILL)
        else:
            cluster.nets.cut(1, silently=end == "silence")
        try:
            bodies = at_once(read, answers)
        finally:
            cluster.nets.mend(1)
            if end == "kill":
                cluster.start(1)
    assert sum(body is None for body in bodies) == on_node_1
    assert {body for body in bodies if body is not None} == {whole}


def requests_of(cluster: Cluster, number: int) -> int:
    n_requests: int = cluster.nodes[number].get("/workers")[1]["dispatcher"]["requests"]
    return n_requests


def read(answer: object) -> bytes | None:
    """Return a whole body, None where it broke off."""
    try:
        body: bytes = answer.read()  # type: ignore[attr-defined]
    except (OSError, http.client.HTTPException):
        return None
    return body


def test_a_reader_as_slow_as_the_speech_is_never_kept_waiting(cluster: Cluster) -> None:
    text = TEXT * 4
    whole = cluster.proxy.pcm(text, seed=1)
    with RawClient(cluster.proxy, receive_buffer=8192) as client:
        client.speech(text, response_format="pcm", stream=True, seed=1)
        answer = client.answer()
        taken, started_s, late = b"", time.monotonic(), []
        # At ten times the speed of speech, which is half of what one worker makes.
        while piece := answer.read(4800):
            heard_s = len(taken) / (2 * RATE_HZ)
            # A listener who had begun to play at the first byte would have run dry before this piece.
            late += [heard_s] if time.monotonic() - started_s > max(heard_s, 0.1) else []
            taken += piece
            time.sleep(0.01)
    assert taken == whole
    assert late == []


def test_full_nodes_are_a_503_that_says_when_to_come_back_and_never_a_502(cluster: Cluster) -> None:
    cluster.order(1, "drain")
    cluster.order(2, "drain")
    try:
        for _ in range(8):
            status, error, headers = cluster.proxy.post_raw(b'{"input": "No room."}')
            assert (status, error["error"]["code"]) == (503, "not_ready")
            assert int(headers["Retry-After"]) >= 1
    finally:
        cluster.order(1, "drain", "--undo")
        cluster.order(2, "drain", "--undo")
