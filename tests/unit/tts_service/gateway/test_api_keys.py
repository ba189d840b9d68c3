"""Where API keys come from, and whose one is."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from support.service import wait_until
from tts_service.errors import SettingsError
from tts_service.gateway import api_keys
from tts_service.gateway.api_keys import KeyRing, digest_of, new_key

KEY = "tts-0123456789abcdef"
OTHER = "another-key-of-somebody"


def key_file(tmp_path: Path, text: str, mode: int = 0o600) -> str:
    path = tmp_path / "keys.toml"
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return str(path)


def test_a_key_is_found_by_itself_or_by_its_hash(tmp_path: Path) -> None:
    text = f'[plain]\nkey = "{KEY}"\nmax_in_flight = 3\n["hashed.one"]\nsha256 = "{digest_of(OTHER).hex()}"\n'
    keys = KeyRing(key_file(tmp_path, text))
    plain, hashed = keys.find(KEY), keys.find(OTHER)
    assert plain is not None
    assert hashed is not None
    assert (plain.name, plain.max_in_flight, plain.requests_per_minute) == ("plain", 3, 0)
    assert hashed.name == "hashed.one"
    for wrong in ("", KEY[:-1], KEY + "x", KEY.upper(), digest_of(OTHER).hex(), "ä", "\udc80"):
        assert keys.find(wrong) is None


def test_no_key_itself_is_kept(tmp_path: Path) -> None:
    keys = KeyRing(key_file(tmp_path, f'[a]\nkey = "{KEY}"\n'), f"b={OTHER}")
    assert KEY not in repr(vars(keys))
    assert OTHER not in repr(vars(keys))


def test_keys_of_the_environment_are_named_pairs() -> None:
    keys = KeyRing("", f"one={KEY}  two={OTHER}")
    assert keys.is_asked_for
    assert [owner.name for key in (KEY, OTHER) if (owner := keys.find(key))] == ["one", "two"]


def test_without_a_file_or_keys_nobody_needs_one() -> None:
    assert not KeyRing("").is_asked_for


def test_a_file_without_keys_lets_nobody_in(tmp_path: Path) -> None:
    keys = KeyRing(key_file(tmp_path, "# none yet\n"))
    assert keys.is_asked_for
    assert keys.find(KEY) is None


@pytest.mark.parametrize("mode", [0o604, 0o602, 0o644, 0o666])
def test_a_file_that_others_may_read_is_refused_with_what_to_do(tmp_path: Path, mode: int) -> None:
    path = key_file(tmp_path, f'[a]\nkey = "{KEY}"\n', mode)
    with pytest.raises(SettingsError, match=f"mode is {mode:04o}.*chmod o= {path}"):
        KeyRing(path)


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o640, 0o440])
def test_a_file_for_its_user_and_group_is_taken(tmp_path: Path, mode: int) -> None:
    assert KeyRing(key_file(tmp_path, f'[a]\nkey = "{KEY}"\n', mode)).find(KEY)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[a]\n", r"\[a\]: expected either sha256 or key"),
        (f'[a]\nkey = "{KEY}"\nsha256 = "{"0" * 64}"\n', r"\[a\]: expected either sha256 or key"),
        ('[a]\nkey = "short"\n', r"\[a\]: key: expected 16 to 512 printable ASCII characters"),
        ('[a]\nkey = "with a space in it"\n', r"\[a\]: key: expected 16"),
        ('[a]\nsha256 = "0123"\n', r"\[a\]: sha256: expected 64 hex digits"),
        ('[a]\nsha265 = "0123"\n', r"\[a\]: unknown sha265; expected one of key, sha256"),
        (f'[a]\nkey = "{KEY}"\nmax_in_flight = -1\n', r"\[a\]: max_in_flight: expected a whole number from 0"),
        (f'[a]\nkey = "{KEY}"\nrequests_per_minute = 1.5\n', r"requests_per_minute: expected a whole number"),
        (f'[a]\nkey = "{KEY}"\n[b]\nkey = "{KEY}"\n', "API keys a and b: two with the same key"),
        (f'a = "{KEY}"\n', r"\[a\]: expected a table"),
        (f'["a b"]\nkey = "{KEY}"\n', r"\[a b\]: expected a name"),
        ("[a\n", "is not valid TOML"),
    ],
)
def test_a_file_that_is_wrong_is_refused_by_name_and_never_shows_a_key(
    tmp_path: Path, text: str, complaint: str
) -> None:
    with pytest.raises(SettingsError, match=complaint) as caught:
        KeyRing(key_file(tmp_path, text))
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("text", [KEY, f"a={KEY} b", "a=short", f"a={KEY} a={OTHER}", f"a b={KEY}", "=x"])
def test_an_environment_that_is_wrong_is_refused_and_shows_no_key(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        KeyRing("", text)
    assert KEY not in str(caught.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read: No such file"):
        KeyRing(str(tmp_path / "none"))


def test_a_change_of_the_file_is_seen_without_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(api_keys, "LOOK_S", 0.0)
    path = key_file(tmp_path, f'[a]\nkey = "{KEY}"\n')
    keys = KeyRing(path)
    assert keys.find(OTHER) is None
    key_file(tmp_path, f'[b]\nkey = "{OTHER}"\n')
    wait_until(lambda: keys.find(OTHER), 5.0, "the new key")
    assert keys.find(KEY) is None
    # One that is wrong, or has gone, leaves the keys as they were.
    with caplog.at_level(logging.ERROR):
        key_file(tmp_path, "[b\n")
        wait_until(lambda: keys.find(OTHER) and "stay as they were" in caplog.text, 5.0, "the complaint")
        os.unlink(path)
        assert keys.find(OTHER)


def test_new_keys_are_long_and_never_the_same() -> None:
    found = {new_key() for _ in range(100)}
    assert len(found) == 100
    assert min(map(len, found)) >= 32
