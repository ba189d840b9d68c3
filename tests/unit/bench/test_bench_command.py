"""The command line of `tts-service bench`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from support.raw_server import refusing_port
from tts_service.bench.scenarios import scenario_class, summaries
from tts_service.cli.main import run
from tts_service.errors import ExitCode


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["threads", "--url", "http://h", "--engine", "tone"], "--engine is for a server that this command starts"),
        (["threads", "--url", "http://h", "--config", "x.toml"], "--config is for a server"),
        (["threads", "--url", "http://h", "--shape", "2x1"], "--shape and --url exclude each other"),
        (["threads", "--workers", "2", "--shape", "2x1"], "--shape and --workers exclude each other"),
        (["threads", "--shape", "2"], "expected workers x threads, for example 2x1"),
        (["threads", "--shape", "0x1"], "expected workers x threads"),
        (["threads", "--connections", "1"], "1 is not in the range"),
        (["threads", "--url", "ftp://h"], "expected something like http"),
        (["throughput", "--url", "http://h", "--limit"], "leave out --url"),
        (["throughput", "--concurrency", "0"], "0 is not in the range"),
        (["throughput", "--json", "/no/such/directory/x.json"], "there is no directory"),
        (["lone", "--api", "wyoming"], "--api wyoming is for a server that runs already; name it with --url"),
        (["lone", "--pid", "1"], "--pid 1 is for a server that runs already"),
        (["lone", "--url", "http://h", "--pid", "4194304"], "--pid 4194304: there is no such process"),
        (["lone", "--url", "http://h", "--field", "speed"], "--field speed: expected NAME=VALUE"),
        (["lone", "--url", "http://h", "--api", "plain", "--field", "a=1"], "--field a: the API plain has no such"),
        (["throughput", "--url", "http://h", "--api", "plain", "--format", "mp3"], "answers with wav"),
        (["first-audio", "--url", "tcp://h", "--api", "wyoming"], "expected something like tcp://127.0.0.1:10200"),
        (["chaos", "--url", "http://h", "--api", "plain"], "No such option"),
        (["nonsense"], "No such command"),
    ],
)
def test_a_command_line_that_asks_for_nonsense_is_refused(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["bench", *arguments]) == ExitCode.USAGE
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


OWN_SERVERS_ONLY = {"chaos", "encoders", "longtext", "soak"}


@pytest.mark.parametrize("name", summaries())
def test_a_wrong_setting_is_named_before_a_server_is_started(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", name, "--engine", "nonsense"]) == ExitCode.BAD_SETTINGS
    assert "nonsense" in capsys.readouterr().err


@pytest.mark.parametrize("name", summaries())
def test_a_server_that_is_not_there_is_unavailable(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["bench", name, "--url", f"http://127.0.0.1:{refusing_port()}"])
    error = capsys.readouterr().err
    # Some scenarios work on servers of their own only, and say so.
    own_only = "it starts its own; leave out --url" in error
    assert own_only is (name in OWN_SERVERS_ONLY)
    assert code == (ExitCode.USAGE if own_only else ExitCode.UNAVAILABLE)
    assert own_only or "no server answers" in error


@pytest.mark.parametrize("name", summaries())
def test_every_scenario_explains_itself_and_has_the_common_options(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["bench", name, "--help"]) == ExitCode.OK
    text = capsys.readouterr().out
    for option in ("--url", "--engine", "--workers", "--threads", "--slots", "--config", "--json", "--png"):
        assert option in text
    assert str(scenario_class(name).__doc__).split(".")[0].split()[0] in text


def test_the_scenarios_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "--help"]) == ExitCode.OK
    text = capsys.readouterr().out
    assert all(name in text and summary in text for name, summary in summaries().items())


def test_measuring_loads_neither_half_nor_matplotlib_before_it_must() -> None:
    code = "import sys\nfrom tts_service.bench import threads, throughput, report, target\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not {"matplotlib", "tts_workers", "tts_service.gateway", "flask", "onnxruntime", "zmq"} & loaded
