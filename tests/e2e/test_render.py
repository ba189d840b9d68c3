"""`render`: phrases into the cache without a server, which finds them later; through a server; what goes wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.service import running

pytestmark = pytest.mark.system

PHRASES = ["Please hold the line.", "Your call is important to us. Thank you.", "", "Goodbye!"]


def render(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command."""
    command = [sys.executable, "-m", "tts_service", "render", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def phrases(tmp_path: Path) -> str:
    """A list of three phrases."""
    (tmp_path / "phrases.txt").write_text("\n".join(PHRASES))
    return str(tmp_path / "phrases.txt")


@pytest.mark.parametrize("engine", ["tone", "hibari"])
def test_a_server_that_is_started_later_finds_what_was_rendered(engine: str, phrases: str, tmp_path: Path) -> None:
    cache = ["--cache-dir", str(tmp_path / "cache"), "--cache-mib", "64"]
    first = render(phrases, *cache, "--engine", engine, "--out", str(tmp_path / "out"))
    assert (first.returncode, first.stdout) == (0, "3 phrases: 3 rendered, 0 already there, 0 failed\n"), first.stderr
    again = render("-", *cache, "--engine", engine, stdin="\n".join([*PHRASES, "And one more."]))
    assert (again.returncode, again.stdout) == (0, "4 phrases: 1 rendered, 3 already there, 0 failed\n"), again.stderr
    env = {"TTS_SERVICE_GATEWAY_CACHE_DIR": str(tmp_path / "cache"), "TTS_SERVICE_GATEWAY_CACHE_MIB": "64"}
    with running("--engine", engine, env=env) as service:
        for line, phrase in enumerate(PHRASES, 1):
            if phrase:
                answer, body = service.speak(phrase, response_format="wav")
                assert answer.headers["X-Cache"] == "hit"
                assert (tmp_path / "out" / f"{line}.wav").read_bytes() == body
                assert service.speak(phrase, response_format="mp3")[0].headers["X-Cache"] == "hit"
        assert sum(worker["segments_done"] for worker in service.workers()) == 0
    assert sorted(os.listdir(tmp_path / "out")) == ["1.wav", "2.wav", "4.wav"]


def test_a_server_s_own_cache_is_filled_through_it(phrases: str) -> None:
    with running("--engine", "tone", env={"TTS_SERVICE_GATEWAY_CACHE_MIB": "16"}) as service:
        for counts in ("3 rendered, 0 already there", "0 rendered, 3 already there"):
            done = render(phrases, "--url", service.url, "--voice", "hz500")
            assert (done.returncode, done.stdout) == (0, f"3 phrases: {counts}, 0 failed\n"), done.stderr
        bad = render("-", "--url", service.url, "--voice", "nobody", stdin="Hello.")
        assert bad.returncode == 65
        assert bad.stderr.startswith("line 1: voice = 'nobody'") or 'line 1: voice = "nobody"' in bad.stderr


def test_lines_that_cannot_be_spoken_are_named_and_the_others_are_rendered(tmp_path: Path) -> None:
    cache = ["--cache-dir", str(tmp_path / "cache"), "--cache-mib", "16"]
    done = render("-", *cache, stdin="Hello there.\n\u0416\u0443\u043a\n...\nGoodbye.\n")
    assert done.returncode == 65
    assert done.stdout == "4 phrases: 2 rendered, 0 already there, 2 failed\n"
    lines = done.stderr.splitlines()
    assert lines[0].startswith("line 2: input has")
    assert lines[1].startswith("line 3: input has nothing to speak in it")


def test_what_would_be_in_vain_is_refused_with_a_named_exit_code(phrases: str, tone: object, tmp_path: Path) -> None:
    shared = tmp_path / "open"
    shared.mkdir(mode=0o755)
    url = tone.url  # type: ignore[attr-defined]
    for arguments, code, complaint in (
        ([phrases], 64, "nothing would be kept"),
        ([phrases, "--cache-dir", str(tmp_path / "new")], 64, "gateway.cache_mib = 0"),
        ([phrases, "--cache-dir", str(tmp_path / "new"), "--cache-mib", "1", "--seed", "-1"], 64, "--seed -1"),
        ([phrases, "--cache-dir", str(shared), "--cache-mib", "1"], 71, "open to others"),
        ([phrases, "--url", url], 64, "keeps nothing"),
        ([phrases, "--url", "http://127.0.0.1:9"], 69, "127.0.0.1:9"),
        ([str(tmp_path / "missing")], 64, "cannot be read"),
    ):
        done = render(*arguments)
        assert (done.returncode, done.stdout) == (code, ""), done.stderr
        assert complaint in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_a_disk_that_takes_nothing_ends_the_rendering_with_its_exit_code(phrases: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = render(phrases, "--engine", "tone", "--cache-dir", str(tmp_path / "file" / "cache"), "--cache-mib", "1")
    assert done.returncode == 73
    assert "could not be kept" in done.stderr.splitlines()[-1]
