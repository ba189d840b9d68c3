"""Results as tables, JSON and plots."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from support.readings import healthy, reading, together
from tts_service.bench.client_process import Timing
from tts_service.bench.cpu_reading import LocalCpu
from tts_service.bench.raw_loop import RawReport
from tts_service.bench.readings import Reading
from tts_service.bench.report import check_outputs, show, write_json, write_png
from tts_service.bench.scenario import About, Result
from tts_service.bench.thread_verdict import Limits, judge
from tts_service.bench.threads import ThreadsResult, ThreadsRun
from tts_service.bench.throughput import ThroughputResult
from tts_service.bench.throughput_figures import RawRound, Round
from tts_service.errors import UsageError


def threads_run(readings: list[Reading], problems: list[str] | None = None) -> ThreadsRun:
    return ThreadsRun("2x1", ["wav"] * (len(readings) - 1), problems or [], readings, judge(readings, Limits()))


def threads_result(*runs: ThreadsRun) -> ThreadsResult:
    return ThreadsResult(About.here(None), Limits(), list(runs))


def growing(n: int) -> list[Reading]:
    return [reading(number, threads=3 + number) for number in range(n + 1)]


def throughput_result(problem: str = "") -> ThroughputResult:
    rounds = [
        Round(c, 2.0, 300.0, 1.5, 0.1, [Timing(0.2, 0.1), Timing(0.3, 0.1, problem)], LocalCpu(1.6, 0.1, 0.2))
        for c in (1, 8)
    ]
    return ThroughputResult(About.here("http://host:1"), "200 requests", rounds, [RawRound([RawReport(90, 0.5, 0.5)])])


RESULTS: list[Any] = [threads_result(threads_run(healthy(20)), threads_run(growing(20))), throughput_result("broken")]


def shown(result: Result) -> str:
    text = io.StringIO()
    show(result, Console(file=text, force_terminal=False))
    return text.getvalue()


@pytest.mark.parametrize("result", RESULTS, ids=["threads", "throughput"])
def test_a_result_is_the_same_after_a_trip_through_json(result: Any, tmp_path: Path) -> None:
    write_json(result, tmp_path / "result.json")
    data = (tmp_path / "result.json").read_bytes()
    assert msgspec.json.decode(data, type=type(result)) == result
    assert msgspec.json.decode(data, type=type(result)).faults() == result.faults()


@pytest.mark.parametrize("result", RESULTS, ids=["threads", "throughput"])
def test_a_plot_is_drawn_into_a_png(result: Any, tmp_path: Path) -> None:
    write_png(result, tmp_path / "result.png")
    data = (tmp_path / "result.png").read_bytes()
    assert data.startswith(b"\x89PNG")
    assert len(data) > 10_000


def test_the_threads_plot_has_two_panels_with_a_line_for_each_worker() -> None:
    from matplotlib.figure import Figure

    both = [together(*pair) for pair in zip(healthy(20), healthy(20, index=1), strict=True)]
    figure = Figure()
    threads_result(threads_run(both)).draw(figure)
    threads, cores = figure.axes
    assert [line.get_label() for line in threads.lines] == ["2x1 worker 0", "2x1 worker 1"]
    assert list(threads.lines[0].get_xdata()) == list(range(1, 21))
    assert list(threads.lines[0].get_ydata()) == [3] * 20
    assert list(cores.lines[0].get_ydata()) == pytest.approx([1.0] * 20)


def test_the_table_shows_first_and_last_of_every_worker_and_the_verdict() -> None:
    text = shown(threads_result(threads_run(growing(20))))
    assert "4→23" in text
    assert "FAILED: 2x1 worker 0: 4 live threads after connection 1, 23 after connection 20" in text
    assert "holds" not in text


def test_a_result_without_faults_says_that_it_holds() -> None:
    result = threads_result(threads_run(healthy(20)))
    assert result.faults() == []
    assert shown(result).splitlines()[-1] == "holds"


def test_wrong_answers_are_faults_and_only_the_first_are_listed() -> None:
    result = threads_result(threads_run(healthy(20), [f"connection {n} (wav): status 500" for n in range(9)]))
    assert result.faults()[0] == "2x1: connection 0 (wav): status 500"
    assert result.faults()[-1] == "2x1: 4 more answers were wrong"


def test_a_drill_in_which_every_worker_was_restarted_does_not_hold() -> None:
    restarted = [reading(n, pid=100 + n) for n in range(6)]
    (fault,) = threads_result(threads_run(restarted)).faults()
    assert "nothing was compared" in fault


def test_a_server_that_had_spoken_before_is_marked() -> None:
    assert "had spoken before" in shown(threads_result(threads_run(healthy(20)[5:])))
    assert "had spoken before" not in shown(threads_result(threads_run(healthy(20))))


def test_a_failed_request_is_a_fault_of_the_throughput() -> None:
    assert throughput_result("status 503").faults()[0] == "concurrency 1: a request failed: status 503"
    assert throughput_result().faults() == []


def test_the_throughput_table_shows_the_ratio_to_the_raw_loop() -> None:
    text = shown(throughput_result())
    assert f"{150 / 180:.3f}" in text
    assert "Against the engine alone in 1 process: 180.0 audio-s per s, 180.0 per CPU-s" in " ".join(text.split())


@pytest.mark.parametrize("result", [threads_result(threads_run(healthy(100))), throughput_result()])
def test_a_table_fits_a_terminal_of_eighty_columns_with_every_figure_in_one_piece(result: Any) -> None:
    text = io.StringIO()
    show(result, Console(file=text, force_terminal=True, width=80, color_system=None))
    rows = [row for table in result.tables() for row in table.rows]
    for row in rows:
        assert [line for line in text.getvalue().splitlines() if all(cell in line for cell in row)], row


def test_a_png_without_matplotlib_is_refused_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UsageError, match=r"pip install 'tts-service\[bench\]'"):
        check_outputs(None, tmp_path / "a.png")
    check_outputs(tmp_path / "a.json", None)


def test_an_output_whose_directory_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no directory"):
        check_outputs(tmp_path / "missing" / "a.json", None)
