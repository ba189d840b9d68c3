"""The arithmetic of the lone, first-audio and paragraph scenarios, and of servers that report nothing."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from tts_service.bench.client_process import Timing
from tts_service.bench.first_audio import ALL, LONG, FirstAudioResult, Streams
from tts_service.bench.lone import LoneResult, lone_figures
from tts_service.bench.paragraph import ParagraphResult, Told
from tts_service.bench.report import show, write_json, write_png
from tts_service.bench.scenario import About, Result
from tts_service.bench.server_usage import Usage
from tts_service.bench.texts import SENTENCES, sentences
from tts_service.bench.throughput_figures import Round, figures

MIB = 1 << 20


def one_round(*timings: Timing, **fields: Any) -> Round:
    base = Round(concurrency=1, wall_s=2.0, audio_s=20.0, engine_cpu_s=None, client_cpu_s=0.1, timings=list(timings))
    return msgspec.structs.replace(base, **fields)


def usage(cpu_s: float, mib: int) -> Usage:
    return Usage(cpu_s, mib * MIB, n_threads=4, n_processes=1)


def lone() -> LoneResult:
    timings = [Timing(0.1 * (n + 1), 0.1, text=n, audio_s=float(n + 1)) for n in range(4)]
    rounds = [one_round(*timings, Timing(9.0, 0.0, "status 503", text=0), usage=usage(4.0, 100))]
    return LoneResult(About.here(None), "four", ["a" * 20, "b" * 49, "c" * 60, "d" * 230], rounds)


def streams() -> FirstAudioResult:
    timings = [Timing(1.0, 0.2, audio_s=9.0), Timing(2.0, 0.1, audio_s=9.0, n_dry=2, dry_s=0.3)]
    both = [Streams(LONG, 1, [one_round(*timings)]), Streams(ALL, 4, [one_round(timings[0])])]
    return FirstAudioResult(About.here(None), "two", both)


def paragraph() -> ParagraphResult:
    told = [Told("wav, buffered", [one_round(Timing(total_s, total_s, audio_s=30.0)) for total_s in (0.6, 0.5, 9.0)])]
    return ParagraphResult(About.here(None), "ten", told, [1.0, 1.2, 1.3])


def shown(result: Result) -> str:
    text = io.StringIO()
    show(result, Console(file=text, force_terminal=False))
    return text.getvalue()


def test_a_server_that_reports_nothing_is_charged_for_all_its_processes() -> None:
    rounds = [one_round(Timing(1.0, 1.0), usage=usage(cpu_s, mib)) for cpu_s, mib in ((2.0, 300), (4.0, 500))]
    (line,) = figures(rounds, [])
    assert line.audio_per_cpu_s == pytest.approx((20 / 2 + 20 / 4) / 2)
    assert line.cores == pytest.approx(1.5)
    assert (line.engine_cores, line.pss_mib, line.n_threads) == (None, 400.0, 4)
    assert line.cpu_ms == pytest.approx({"server": 150.0, "client": 5.0})


def test_of_a_server_whose_processes_are_not_seen_only_audio_and_times_are_known() -> None:
    (line,) = figures([one_round(Timing(1.0, 1.0))], [])
    assert line.audio_per_wall_s == 10.0
    assert (line.audio_per_cpu_s, line.cores, line.pss_mib, line.n_threads) == (None, None, None, None)


def test_memory_that_may_not_be_read_is_not_shown_as_none_used() -> None:
    (line,) = figures([one_round(Timing(1.0, 1.0), usage=usage(2.0, 0))], [])
    assert line.pss_mib is None


def test_lone_requests_are_told_by_the_length_of_their_texts() -> None:
    every, short, middling, long = lone_figures(lone().texts, lone().rounds)
    assert [one.label for one in (every, short, middling, long)] == ["all", "20-49", "60-60", "230-230"]
    assert [one.n_requests for one in (every, short, middling, long)] == [4, 2, 1, 1]
    assert every.total_s == pytest.approx((0.25, 0.385))
    assert short.audio_s == 1.5
    assert long.real_time_factor == pytest.approx(0.1)


def test_the_share_of_the_first_audio_is_the_median_of_each_streams_own() -> None:
    long, short = streams().streams
    assert long.share == pytest.approx((0.2 + 0.05) / 2)
    assert (long.n_dry, long.dry_s) == (2, 0.3)
    assert short.first_audio_s == (0.2, 0.2)


def test_an_underrun_is_a_fault_of_the_first_audio() -> None:
    assert streams().faults() == ["a long sentence, 1 at once: 2 underruns, 0.30 s in all"]


def test_the_paragraph_is_compared_with_one_process_alone() -> None:
    (told,) = paragraph().told
    assert told.total_s == 0.6
    assert "0.50" in shown(paragraph())
    assert "one process alone" in shown(paragraph())


RESULTS: list[Any] = [lone(), streams(), paragraph()]


@pytest.mark.parametrize("result", RESULTS, ids=["lone", "first-audio", "paragraph"])
def test_a_result_is_json_a_table_and_a_picture(result: Any, tmp_path: Path) -> None:
    write_json(result, tmp_path / "a.json")
    assert msgspec.json.decode((tmp_path / "a.json").read_bytes(), type=type(result)) == result
    write_png(result, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    for row in (row for table in result.tables() for row in table.rows):
        assert any(all(cell in line for cell in row) for line in shown(result).splitlines()), row


def test_every_few_sentences_are_of_all_lengths_and_each_comes_in_turn() -> None:
    assert sorted(sentences(40)) == sorted(SENTENCES)
    assert sentences(80)[40:] == sentences(40)
    for start in range(36):
        ranks = [SENTENCES.index(text) for text in sentences(40)[start : start + 4]]
        assert max(ranks) - min(ranks) >= 20
