"""Cut voices are kept: whole or not at all, for all workers, and never at the price of not starting."""

from __future__ import annotations

import os
import threading
from functools import partial
from pathlib import Path

import pytest

from support.synthetic_vits import Build, write_voice
from tts_service.errors import EngineBroken
from tts_workers.engines.piper.cache import FACTS, WEIGHTS, Cache, Entry, default_directory, digest_of
from tts_workers.engines.piper.cutting import Cut, cut
from tts_workers.engines.piper.voice import VoiceFile


class Counted:
    """Cuts a voice and counts how often."""

    def __init__(self, voice: VoiceFile) -> None:
        self.voice = voice
        self.n = 0

    def __call__(self) -> Cut:
        self.n += 1
        return cut(self.voice)


@pytest.fixture
def voice(tmp_path: Path) -> VoiceFile:
    return write_voice(tmp_path / "voices")


def get(cache: Path, make: Counted) -> Entry:
    return Cache(cache).get(digest_of(make.voice.model), make)


def test_a_voice_is_cut_once(tmp_path: Path, voice: VoiceFile) -> None:
    make = Counted(voice)
    first, again = (get(tmp_path / "cache", make) for _ in range(2))
    assert (make.n, first) == (1, again)
    assert sorted(path.name for path in first.directory.iterdir()) == sorted(
        ["encoder.onnx", "body.onnx", "tail.onnx", FACTS, WEIGHTS]
    )
    assert first.parts().keys() == {"encoder", "body", "tail"}


def test_another_file_is_another_entry(tmp_path: Path, voice: VoiceFile) -> None:
    other = write_voice(tmp_path / "voices", "other", Build(seed=9))
    entries = [get(tmp_path / "cache", Counted(each)) for each in (voice, other)]
    assert entries[0].directory != entries[1].directory


def test_weights_are_in_a_file_of_their_own_and_the_graphs_are_light(tmp_path: Path, voice: VoiceFile) -> None:
    big = write_voice(tmp_path / "voices", "big", Build(rows=50_000))
    entry = get(tmp_path / "cache", Counted(big))
    assert (entry.directory / WEIGHTS).stat().st_size >= 50_000 * 8 * 4
    assert sum(path.stat().st_size for path in entry.directory.glob("*.onnx")) < 200_000


def test_the_cache_is_private_to_its_user(tmp_path: Path, voice: VoiceFile) -> None:
    get(tmp_path / "cache", Counted(voice))
    assert (tmp_path / "cache").stat().st_mode & 0o077 == 0


def test_an_interrupted_cut_leaves_nothing_that_would_be_taken_for_a_voice(tmp_path: Path, voice: VoiceFile) -> None:
    def interrupted() -> Cut:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Cache(tmp_path / "cache").get(digest_of(voice.model), interrupted)
    make = Counted(voice)
    assert get(tmp_path / "cache", make).parts()
    assert make.n == 1


def test_an_interrupted_write_leaves_nothing_behind(
    tmp_path: Path, voice: VoiceFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(path: Path, target: Path) -> Path:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", interrupted)
        with pytest.raises(KeyboardInterrupt):
            get(tmp_path / "cache", Counted(voice))
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["lock"]
    assert get(tmp_path / "cache", Counted(voice)).parts()


def test_what_a_killed_attempt_left_behind_is_cleared_away(tmp_path: Path, voice: VoiceFile) -> None:
    entry = get(tmp_path / "cache", Counted(voice))
    rest = tmp_path / "cache" / f".{entry.directory.name}-abc"
    entry.directory.rename(rest)
    assert get(tmp_path / "cache", Counted(voice)) == entry
    assert not rest.exists()


@pytest.mark.parametrize("content", [None, b"", b"{", b'{"hop": "x"}'])
def test_a_damaged_entry_is_made_anew(tmp_path: Path, voice: VoiceFile, content: bytes | None) -> None:
    make = Counted(voice)
    facts = get(tmp_path / "cache", make).directory / FACTS
    if content is None:
        facts.unlink()
    else:
        facts.write_bytes(content)
    entry = get(tmp_path / "cache", make)
    assert make.n == 2
    assert get(tmp_path / "cache", make) == entry


@pytest.mark.parametrize("name", [WEIGHTS, "tail.onnx"])
def test_an_entry_with_a_file_missing_or_cut_short_is_made_anew(tmp_path: Path, voice: VoiceFile, name: str) -> None:
    make = Counted(voice)
    path = get(tmp_path / "cache", make).directory / name
    size = path.stat().st_size
    path.unlink()
    get(tmp_path / "cache", make)
    os.truncate(path, size // 2)
    get(tmp_path / "cache", make)
    assert path.stat().st_size == size
    assert make.n == 3


def refuse(*arguments: object, **options: object) -> None:
    raise OSError(30, "Read-only file system")


def test_a_read_only_cache_is_read(tmp_path: Path, voice: VoiceFile, monkeypatch: pytest.MonkeyPatch) -> None:
    make = Counted(voice)
    entry = get(tmp_path / "cache", make)
    for name in ("mkdir", "rename", "write_bytes"):
        monkeypatch.setattr(Path, name, refuse)
    monkeypatch.setattr("fcntl.flock", refuse)
    assert get(tmp_path / "cache", make) == entry
    assert make.n == 1


def test_where_nothing_can_be_kept_a_voice_is_cut_for_the_process_alone(
    tmp_path: Path, voice: VoiceFile, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cache").write_text("a file and no directory")
    make = Counted(voice)
    cache = Cache(tmp_path / "cache")
    entry = cache.get(digest_of(voice.model), make)
    assert entry.parts().keys() == {"encoder", "body", "tail"}
    assert "cannot keep cut voices" in caplog.text
    place = entry.directory
    assert place.exists()
    del cache, entry
    assert not place.exists()


def test_workers_that_start_together_cut_a_voice_once(tmp_path: Path, voice: VoiceFile) -> None:
    make = Counted(voice)
    barrier = threading.Barrier(4, timeout=20)
    found: list[Entry] = []

    def start() -> None:
        barrier.wait()
        found.append(get(tmp_path / "cache", make))

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert make.n == 1
    assert len({entry.directory for entry in found}) == 1
    assert len(found) == 4


def test_the_hash_is_that_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    assert digest_of(tmp_path / "x") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_a_file_that_cannot_be_read_is_an_error_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(EngineBroken, match=r"cannot read .*/x: No such file"):
        digest_of(tmp_path / "x")


@pytest.mark.parametrize(
    ("environment", "directory"),
    [
        ({"CACHE_DIRECTORY": "/var/cache/tts:/x", "HOME": "/root"}, "/var/cache/tts/piper"),
        ({"XDG_CACHE_HOME": "/xdg", "HOME": "/root"}, "/xdg/tts-service/piper"),
        ({"HOME": "/root"}, "/root/.cache/tts-service/piper"),
        ({}, "/.cache/tts-service/piper"),
    ],
)
def test_the_cache_is_where_systemd_or_the_user_keeps_such_things(environment: dict[str, str], directory: str) -> None:
    assert default_directory(environment) == Path(directory)


def test_facts_of_a_whole_voice_are_kept_with_the_reason(tmp_path: Path) -> None:
    odd = write_voice(tmp_path / "voices", "odd", Build(fault="softplus"))
    for _ in range(2):
        entry = Cache(tmp_path / "cache").get(digest_of(odd.model), partial(cut, odd))
        assert "exponential" in entry.facts.whole_because
        assert entry.parts().keys() == {"whole"}
    assert os.listdir(entry.directory)
