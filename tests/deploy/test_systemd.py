"""The shipped units on a machine that systemd has booted: start, restart, reload, death and hang under load."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import threading
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import psutil
import pytest

import tts_service
from support.booted import Booted, BootedService, booted
from support.raw_http import RawClient
from support.service import wait_until
from support.steady_load import TEXT, under_load

pytestmark = [pytest.mark.system, pytest.mark.timeout(180)]

UNITS = ("tts-workers.service", "tts-gateway.service")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


class Node:
    """The machine, and the service on it."""

    def __init__(self, machine: Booted) -> None:
        self.machine = machine
        self.port = free_port()
        self.service = BootedService(f"http://127.0.0.1:{self.port}")

    def config(self, pool: str = "", options: str = "step_cost_s = 0.01, faults = true") -> str:
        """Return settings with two workers of 25 seconds of audio a second each."""
        head = f'[gateway]\nport = {self.port}\n[pools.default]\nengine = "tone"\nworkers = 2\n'
        return f"{head}options = {{{options}}}\n{pool}\n"

    def write_config(self, text: str) -> None:
        (self.machine.root / "etc/tts-service/config.toml").write_text(text)

    def systemctl(self, *words: str, check: bool = True) -> str:
        return self.machine.run("systemctl", *words, check=check)

    def restarts(self, unit: str) -> int:
        return int(self.machine.show(unit, "NRestarts"))

    def inside(self, pid: int) -> psutil.Process:
        """Return the process that has this number inside the machine."""
        for process in psutil.process_iter():
            try:
                numbers = re.search(r"^NSpid:.*$", Path(f"/proc/{process.pid}/status").read_text(), re.MULTILINE)
            except OSError:
                continue
            if numbers and numbers.group().split()[2:] == [str(pid)]:
                return process
        raise AssertionError(f"no process {pid}")

    def main(self, unit: str) -> psutil.Process:
        return self.inside(self.machine.main_pid(unit))


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    """A booted machine with the service installed and started."""
    with booted() as machine:
        node = Node(machine)
        # Loading takes so long that a request surely comes before it is over.
        machine.install(node.config(options="step_cost_s = 0.01, faults = true, load_s = 2"))
        node.systemctl("enable", "tts-service.target")
        node.systemctl("start", "--no-block", "tts-service.target")
        wait_until(lambda: machine.show("tts-gateway.socket", "ActiveState") == "active", 10.0, "the socket")
        yield node


@pytest.fixture(autouse=True)
def whole(node: Node, request: pytest.FixtureRequest) -> None:
    """Each test but the first finds the service up and ready."""
    if "first" not in request.node.name:
        wait_until(lambda: all(node.machine.show(unit, "ActiveState") == "active" for unit in UNITS), 30.0, "up")
        node.service.wait_ready()


def test_first_a_request_at_boot_waits_for_warm_workers_and_is_answered(node: Node) -> None:
    assert node.machine.show("tts-workers.service", "ActiveState") == "activating"
    assert node.service.pcm("The very first.")
    assert node.machine.show("tts-workers.service", "ActiveState") == "active"
    assert "2 workers" in node.machine.show("tts-workers.service", "StatusText")


def test_both_halves_are_one_user_without_any_rights(node: Node) -> None:
    users = set()
    for unit in UNITS:
        status = Path(f"/proc/{node.main(unit).pid}/status").read_text()
        assert "CapEff:\t0000000000000000" in status
        assert "CapBnd:\t0000000000000000" in status
        assert "NoNewPrivs:\t1" in status
        assert "Seccomp:\t2" in status
        users.add(node.main(unit).uids().real)
    (user,) = users
    assert user != 0
    for folder, mode in (("run", 0o700), ("var/lib", 0o750), ("var/cache", 0o750)):
        stat = os.stat(f"/proc/{node.main(UNITS[0]).pid}/root/{folder}/tts-service")
        assert (stat.st_uid, stat.st_mode & 0o777) == (user, mode), folder


@pytest.mark.parametrize("unit", UNITS)
def test_the_exposure_is_small_and_nothing_can_be_written(node: Node, unit: str) -> None:
    report = node.machine.run("systemd-analyze", "security", "--no-pager", unit)
    exposure = re.search(r"Overall exposure level for \S+: (\S+)", report)
    assert exposure is not None
    assert float(exposure.group(1)) <= 1.5
    mounts = Path(f"/proc/{node.main(unit).pid}/mountinfo").read_text().splitlines()
    writable = {line.split()[4] for line in mounts if line.split()[5].startswith("rw")}
    memory_only = {"/dev", "/proc", "/sys", "/run", "/tmp", "/var/tmp", "/home", "/root", "/dev/shm", "/dev/mqueue"}
    own = {"/run/tts-service", "/var/lib/tts-service", "/var/cache/tts-service"}
    assert {path for path in writable if path in ("/", "/etc", "/usr", "/var", "/opt")} == set()
    assert own <= writable, sorted(writable - memory_only)


@pytest.mark.parametrize("unit", [*UNITS, "tts-service.target"])
def test_a_restart_under_load_loses_no_request(node: Node, unit: str) -> None:
    expected = node.service.pcm(TEXT, stream=False, seed=1)
    restarted = UNITS if unit.endswith("target") else (unit,)
    before = {name: node.machine.main_pid(name) for name in restarted}
    with under_load(node.service) as load:
        node.systemctl("restart", unit)
        # systemctl waits for the target alone.
        for name in restarted:
            wait_until(lambda name=name: node.machine.main_pid(name) not in (0, before[name]), 20.0, "the successor")
    assert load.failures == []
    assert set(load.whole) == {expected}


@pytest.mark.parametrize("unit", [*UNITS, "tts-service.target"])
def test_a_reload_under_load_loses_no_request(node: Node, unit: str) -> None:
    expected = node.service.pcm(TEXT, stream=False, seed=1)
    with under_load(node.service) as load:
        before = node.machine.main_pid(UNITS[0]), node.machine.main_pid(UNITS[1])
        node.systemctl("reload", unit)
        assert (node.machine.main_pid(UNITS[0]), node.machine.main_pid(UNITS[1])) == before
    assert load.failures == []
    assert set(load.whole) == {expected}


def test_a_reload_takes_new_settings_and_a_wrong_one_is_refused_with_its_reason(node: Node) -> None:
    node.write_config(node.config('default_voice = "hz900"'))
    node.systemctl("reload", "tts-workers.service")
    _, models = node.service.get("/v1/models")
    assert models["data"][0]["default_voice"] == "hz900"
    node.write_config(node.config("slots = 2000"))
    assert "failed" in node.systemctl("reload", "tts-workers.service", check=False)
    assert "pools.default.slots = 2000" in node.machine.log("tts-workers.service")
    node.write_config(node.config())
    assert node.service.pcm("All as before.")
    node.systemctl("reload", "tts-workers.service")


@pytest.mark.parametrize("action", ["restart", "reload"])
def test_a_stream_ends_whole_while_its_gateway_is_replaced(node: Node, action: str) -> None:
    expected = node.service.pcm(TEXT * 10, seed=1)
    with RawClient(node.service) as client:
        client.speech(TEXT * 10, response_format="pcm", stream=True, seed=1)
        answer = client.answer()
        replacing = threading.Thread(target=node.systemctl, args=(action, "tts-gateway.service"))
        replacing.start()
        body = answer.read()
        replacing.join()
    assert body == expected
    node.service.wait_ready()


def test_workers_and_dispatcher_that_are_killed_lose_no_request(node: Node) -> None:
    expected = node.service.pcm(TEXT, stream=False, seed=1)
    with under_load(node.service) as load:
        node.main("tts-workers.service").children()[0].kill()
        load.wait_for(6)
        before = node.restarts("tts-workers.service")
        node.main("tts-workers.service").kill()
        load.wait_for(6)
        wait_until(lambda: node.restarts("tts-workers.service") > before, 10.0, "systemd's restart")
    assert load.failures == []
    assert set(load.whole) == {expected}


def test_a_gateway_that_is_killed_is_back_at_once_and_nobody_new_is_refused(node: Node) -> None:
    expected = node.service.pcm(TEXT, seed=1)
    before = node.restarts("tts-gateway.service")
    main = node.main("tts-gateway.service")
    family = [main, *main.children()]
    main.kill()
    wait_until(lambda: not any(process.is_running() for process in family), 10.0, "its end")
    # The connection waits in the socket, which is systemd's.
    assert node.service.pcm(TEXT, seed=1) == expected
    assert node.restarts("tts-gateway.service") > before


@pytest.mark.parametrize("unit", UNITS)
def test_a_half_that_hangs_is_ended_by_its_watchdog_and_started_again(node: Node, unit: str) -> None:
    node.machine.drop_in(unit, "[Service]\nWatchdogSec=2\n")
    node.systemctl("restart", unit)
    node.service.wait_ready()
    before = node.restarts(unit)
    stopped = node.main(unit)
    # Of the gateway, the process that serves: that one feeds.
    for process in [stopped, *stopped.children()]:
        process.send_signal(signal.SIGSTOP)
    wait_until(lambda: node.restarts(unit) > before, 20.0, "the watchdog")
    assert "Watchdog timeout" in node.machine.log(unit)
    wait_until(lambda: not stopped.is_running(), 10.0, "the end of the hung half")
    node.service.wait_ready()
    assert node.service.pcm("Up again.")


def replace_package(node: Node, version: str) -> None:
    """Have another version installed, as pip would: the code's, and what is written about it."""
    distribution = metadata.distribution("tts-service")
    folder = Path(str(distribution._path))  # type: ignore[attr-defined]
    for path in [Path(str(tts_service.__file__)), folder / "METADATA", folder / "PKG-INFO"]:
        if path.exists():
            text = path.read_text().replace(tts_service.__version__, version)
            (node.machine.root / path.relative_to("/")).write_text(text)


def test_an_upgrade_loses_no_request_where_both_halves_are_restarted_together(node: Node) -> None:
    expected = node.service.pcm(TEXT, stream=False, seed=1)
    replace_package(node, "9.9.8")
    before = [node.machine.main_pid(unit) for unit in UNITS]
    with under_load(node.service) as load:
        # One transaction, and so in order; systemctl with two names makes two.
        node.systemctl("restart", "tts-service.target")
        for unit in UNITS:
            wait_until(lambda unit=unit: node.machine.main_pid(unit) not in (0, *before), 20.0, "the successor")
        node.service.wait_ready()
    assert node.service.get("/health")[1]["version"] == "9.9.8"
    assert load.failures == []
    assert set(load.whole) == {expected}


@pytest.mark.drill
def test_after_an_upgrade_the_half_that_was_forgotten_restarts_by_itself(node: Node) -> None:
    replace_package(node, "9.9.9")
    gateway = node.machine.main_pid("tts-gateway.service")
    with under_load(node.service) as load:
        node.systemctl("restart", "tts-workers.service")
        wait_until(lambda: node.machine.main_pid("tts-gateway.service") not in (0, gateway), 40.0, "a new gateway")
        node.service.wait_ready()
    assert node.service.get("/health")[1]["version"] == "9.9.9"
    # What the old gateway had in progress cannot be spoken by workers of another version: one for each client.
    assert len(load.failures) <= 3
    assert all(failure.startswith("503") for failure in load.failures), load.failures


def test_wrong_settings_end_a_start_for_good_with_their_code(node: Node) -> None:
    node.write_config(node.config("no_such_key = 1"))
    node.systemctl("restart", "tts-workers.service", check=False)
    assert node.machine.show("tts-workers.service", "ActiveState") == "failed"
    assert node.machine.show("tts-workers.service", "ExecMainStatus") == "78"
    assert "no_such_key" in node.machine.log("tts-workers.service")
    # The gateway goes on, and says what is missing.
    assert node.service.get("/ready")[0] == 503
    node.write_config(node.config())
    node.systemctl("restart", "tts-workers.service")


def test_last_stopping_the_target_stops_everything_in_order_and_refuses(node: Node) -> None:
    node.systemctl("stop", "tts-service.target")
    for unit in (*UNITS, "tts-gateway.socket"):
        # systemctl waits for the target alone.
        wait_until(lambda unit=unit: node.machine.show(unit, "ActiveState") == "inactive", 20.0, f"{unit} ended")
    with pytest.raises(OSError):
        http.client.HTTPConnection("127.0.0.1", node.port, timeout=5).request("GET", "/health")
    node.systemctl("start", "tts-service.target")
