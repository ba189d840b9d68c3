"""The scenarios that measure servers of any make, against real ones: ours, and small ones of other APIs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from support.benching import bench
from support.json_server import serving
from support.service import Service
from support.wav_bytes import wav
from support.wyoming_server import event, speaking, spoken
from tts_service.bench.first_audio import FirstAudioResult
from tts_service.bench.lone import LoneResult
from tts_service.bench.paragraph import ParagraphResult
from tts_service.bench.texts import PARAGRAPH
from tts_service.bench.threads import ThreadsResult
from tts_service.bench.throughput import ThroughputResult
from tts_service.errors import ExitCode

pytestmark = pytest.mark.system

TONE_S_PER_CHAR = 0.06


def test_lone_requests_hear_all_audio_of_our_server(tone: Service, tmp_path: Path) -> None:
    outcome = bench(tmp_path, "lone", "-n", "8", "--rounds", "1", "--url", tone.url, "--pid", str(tone.pid))
    assert outcome.exit_code == ExitCode.OK, outcome.output + outcome.errors
    result = msgspec.json.decode(outcome.json, type=LoneResult)
    assert result.rounds[0].audio_s == pytest.approx(sum(map(len, result.texts)) * TONE_S_PER_CHAR, abs=0.05)
    usage = result.rounds[0].usage
    assert usage is not None
    assert usage.n_processes == len(tone.processes())
    assert usage.cpu_s > 0


def test_streams_of_our_server_begin_before_they_end_and_never_run_dry(tone: Service, tmp_path: Path) -> None:
    outcome = bench(tmp_path, "first-audio", "-n", "4", "--rounds", "1", "-s", "2", "--url", tone.url)
    assert outcome.exit_code == ExitCode.OK, outcome.output + outcome.errors
    result = msgspec.json.decode(outcome.json, type=FirstAudioResult)
    assert [len(streams.good) for streams in result.streams] == [4, 4]
    assert all(streams.first_audio_s[0] <= streams.total_s[0] for streams in result.streams)


def test_the_paragraph_is_spoken_by_a_server_and_by_one_process_alone(tmp_path: Path) -> None:
    outcome = bench(tmp_path, "paragraph", "--rounds", "2", "--engine", "tone", "--workers", "2")
    assert outcome.exit_code == ExitCode.OK, outcome.output + outcome.errors
    result = msgspec.json.decode(outcome.json, type=ParagraphResult)
    assert len(result.alone_s) == 2
    assert [told.manner for told in result.told] == ["wav, buffered", "pcm, streamed"]
    assert all(told.audio_s >= len(PARAGRAPH) * TONE_S_PER_CHAR - 1 for told in result.told)


def test_a_server_of_another_make_is_measured_by_what_it_answers_and_by_its_processes(tmp_path: Path) -> None:
    arguments = ("-c", "1", "-c", "3", "-n", "6", "--api", "piper-http", "--pid", str(os.getpid()))
    with serving([(200, wav(16000))]) as server:
        outcome = bench(tmp_path, "throughput", "--url", server.url, *arguments)
    assert outcome.exit_code == ExitCode.OK, outcome.output + outcome.errors
    result = msgspec.json.decode(outcome.json, type=ThroughputResult)
    assert [(one.concurrency, one.audio_s) for one in result.rounds] == [(1, 6.0), (3, 6.0)]
    assert all(line.pss_mib for line in result.lines)
    assert "audio-s per CPU-s" in outcome.output


def test_failures_of_another_server_are_failures_of_the_measurement(tmp_path: Path) -> None:
    broken = event("error", {"text": "no such voice"})
    with speaking(*[spoken(0.1)] * 9, broken) as server:
        outcome = bench(tmp_path, "throughput", "-c", "2", "-n", "6", "--api", "wyoming", "--url", server.url)
    assert outcome.exit_code == ExitCode.FAILED
    assert "no such voice" in outcome.output


def test_compressed_audio_of_another_server_cannot_be_counted(tmp_path: Path) -> None:
    with serving([(404, b"")]) as server:
        outcome = bench(tmp_path, "throughput", "-c", "1", "-n", "2", "--format", "mp3", "--url", server.url)
    assert outcome.exit_code == ExitCode.USAGE
    assert "which can be done with pcm or wav" in outcome.errors


def test_the_threads_of_another_server_are_counted_in_its_process(tmp_path: Path) -> None:
    # Each connection leaves a thread behind that sleeps until the server ends.
    code = """
import threading
from support.json_server import _Handler, serving
from support.wav_bytes import wav
over = threading.Event()
answer = _Handler._answer
def leave_a_thread_behind(self):
    threading.Thread(target=over.wait, daemon=True).start()
    answer(self)
_Handler._answer = leave_a_thread_behind
with serving([(200, wav(16000))]) as server:
    print(server.url, flush=True)
    input()
"""
    tests = str(Path(__file__).parents[1])
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": tests}, stdin=pipe, stdout=pipe, text=True
    ) as process:
        assert process.stdout is not None
        arguments = ("--api", "plain", "--url", process.stdout.readline().strip(), "--connections", "10")
        refused = bench(tmp_path, "threads", *arguments)
        outcome = bench(tmp_path, "threads", *arguments, "--pid", str(process.pid))
        process.communicate("\n")
    assert refused.exit_code == ExitCode.USAGE
    assert "name the first of them with --pid" in refused.errors
    assert outcome.exit_code == ExitCode.FAILED, outcome.output + outcome.errors
    (run,) = msgspec.json.decode(outcome.json, type=ThreadsResult).runs
    assert run.problems == []
    threads = run.verdicts[0].threads
    assert threads is not None
    assert threads[1] - threads[0] == 9
