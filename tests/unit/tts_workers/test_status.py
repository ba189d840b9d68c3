"""What GET /workers costs: the sizes that are dear to read are read rarely."""

from __future__ import annotations

from tts_workers.status import PSS_MAX_AGE_S, PssGauge


def test_a_size_is_read_once_however_often_it_is_asked_for() -> None:
    reads: list[int] = []

    def read(pid: int) -> int:
        reads.append(pid)
        return 1000 * pid + len(reads)

    gauge = PssGauge(read)
    assert [gauge.bytes_of(7, 0.01 * n) for n in range(20)] == [7001] * 20
    assert gauge.bytes_of(8, 0.1) == 8002
    assert gauge.bytes_of(7, PSS_MAX_AGE_S) == 7003
    assert reads == [7, 8, 7]


def test_a_process_that_is_not_there_has_no_size() -> None:
    gauge = PssGauge(lambda pid: 1 // pid)
    assert gauge.bytes_of(0, 1.0) == 0


def test_sizes_of_processes_that_are_gone_are_forgotten() -> None:
    gauge = PssGauge(lambda pid: pid)
    for pid in range(1, 1001):
        gauge.bytes_of(pid, float(pid))
    assert len(gauge._read_at) <= PSS_MAX_AGE_S + 1
