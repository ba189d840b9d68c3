"""Names of downloads: safe whatever the text."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.properties import property_settings
from tts_service.gateway.filename import LONGEST, disposition


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, world.", 'inline; filename="Hello world.wav"'),
        ("Café au lait!", "inline; filename=\"Cafe au lait.wav\"; filename*=UTF-8''Caf%C3%A9%20au%20lait.wav"),
        ("日本語", "inline; filename=\"speech.wav\"; filename*=UTF-8''%E6%97%A5%E6%9C%AC%E8%AA%9E.wav"),
        ('../../etc/passwd"; x=y\r\nSet-Cookie: a', 'inline; filename="etc passwd x y Set-Cookie a.wav"'),
        ("...", 'inline; filename="speech.wav"'),
    ],
)
def test_a_name_is_made_of_the_words_of_the_text(text: str, expected: str) -> None:
    assert disposition(text, "wav", download=False) == expected


def test_a_link_that_saves_says_so() -> None:
    assert disposition("Hi", "mp3", download=True) == 'attachment; filename="Hi.mp3"'


def test_a_long_text_gives_whole_words_of_its_beginning() -> None:
    value = disposition("seven times seven is forty-nine and so on " * 50, "flac", download=False)
    (name,) = re.findall(r'filename="(.*)\.flac"', value)
    assert len(name) <= LONGEST
    assert name == "seven times seven is forty-nine and so on seven times seven"


@property_settings(300)
@given(st.text(max_size=300))
def test_no_text_makes_a_header_or_a_path(text: str) -> None:
    value = disposition(text, "wav", download=False)
    assert value.isascii()
    assert value.isprintable()
    assert value.count('"') == 2
    names = re.findall(r'filename="([^"]*)"', value) + [unquote(name) for name in re.findall(r"''(.*)", value)]
    for name in names:
        stem = name.removesuffix(".wav")
        assert 0 < len(stem) <= LONGEST
        assert not re.search(r"[/\\.:*?<>|\x00-\x1f]", stem)
