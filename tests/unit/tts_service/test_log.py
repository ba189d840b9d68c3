"""Log lines as an operator reads them."""

from __future__ import annotations

import logging

import pytest

from tts_service.log import set_up


def test_a_line_has_time_level_and_process_and_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    set_up("info", "gateway")
    logging.getLogger("tts_service.x").warning("worker %d is back", 3)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith(" WARNING gateway: worker 3 is back\n")
    assert err[:4].isdigit()


def test_lesser_messages_than_the_level_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    set_up("warning", "gateway")
    logging.getLogger("tts_service.x").info("not this")
    logging.getLogger("tts_service.x").error("this")
    assert capsys.readouterr().err.count("\n") == 1


def test_setting_up_twice_does_not_log_twice(capsys: pytest.CaptureFixture[str]) -> None:
    set_up("info", "a")
    set_up("info", "b")
    logging.getLogger("tts_service.x").info("once")
    assert capsys.readouterr().err.count("once") == 1
